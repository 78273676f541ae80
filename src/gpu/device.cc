#include "gpu/device.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <vector>

#include "gpu/cuda/cuda.h"
#include "gpu/opencl/opencl.h"

namespace ridge::gpu {
namespace {

// The number behind the colon of "cuda:1"; none: 0. Absent: not a number.
std::optional<size_t> index_in(std::string_view name) {
  const size_t colon = name.find(':');
  if (colon == std::string_view::npos) return 0;
  const std::string_view digits = name.substr(colon + 1);
  size_t index = 0;
  auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  if (digits.empty() || error != std::errc() || stop != digits.data() + digits.size()) return std::nullopt;
  return index;
}

}  // namespace

bool runs_on_cpu(const DeviceFacts& facts) { return facts.kind == "cpu"; }

int architecture_of(const DeviceFacts& facts) {
  int number = 0;
  for (char digit : facts.capability)
    if (digit != '.') number = number * 10 + (digit - '0');
  return number;
}

Result<BufferNumber> Workspace::add(std::span<const float> content, MemoryKind kind) {
  RIDGE_ASSIGN(BufferNumber number, add_bytes(content.size_bytes(), kind));
  RIDGE_TRY(write(number, content));
  return number;
}

Status Workspace::write(BufferNumber buffer, std::span<const float> content, size_t at) {
  return write_bytes(buffer, std::as_bytes(content), at * sizeof(float));
}

Status Workspace::read(BufferNumber buffer, std::span<float> content, size_t at) {
  return read_bytes(buffer, std::as_writable_bytes(content), at * sizeof(float));
}

Result<LaunchTime> Workspace::run(std::span<const Launch> launches, int repeats) {
  std::vector<Step> steps;
  for (const Launch& launch : launches) steps.push_back({launch});
  return run(steps, repeats);
}

Result<int> Workspace::code_architecture() const {
  return Error{Code::kUnsupported, "this device has no architectures of CUDA"};
}

Result<Recording> Workspace::record(std::span<const Launch>, int) {
  return Error{Code::kUnsupported, "launches cannot be recorded on this device"};
}

Result<GemmPlan> Workspace::plan(const GemmProblem&) {
  return Error{Code::kUnsupported, "this device has no library of matrix multiplications"};
}

Result<Residency> Workspace::residency(const Launch&) {
  return Error{Code::kUnsupported, "this device does not say what kernels take of it"};
}

Result<Device> open_device(std::string_view name) {
  const std::string_view family = name.substr(0, name.find(':'));
  const std::optional<size_t> index = index_in(name);
  if (index && family == "cuda") {
    RIDGE_ASSIGN(const cuda::Cuda cuda, cuda::Cuda::open());
    return cuda.device(*index);
  }
  if (index && family == "opencl") {
    RIDGE_ASSIGN(const std::vector<Device> all, opencl::devices());
    RIDGE_TRY(check_device_index(*index, all.size(), "OpenCL"));
    return all[*index];
  }
  return Error{Code::kInvalid,
               fmt::format("there is no device '{}': it is cpu, cuda:N or opencl:N with N from 0", name)};
}

Result<std::unique_ptr<Workspace>> workspace_with(const Device& device, const std::string& source, Timing timing) {
  RIDGE_ASSIGN(std::unique_ptr<Workspace> workspace, device.open_workspace(timing));
  RIDGE_TRY(workspace->build(source));
  return workspace;
}

Status check_device_index(size_t index, size_t count, std::string_view kind) {
  if (index < count) return {};
  return Error{Code::kNotFound,
               fmt::format("there is no {} device {}; there {} {}", kind, index, count == 1 ? "is" : "are", count)};
}

}  // namespace ridge::gpu
