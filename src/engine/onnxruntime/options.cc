#include "engine/onnxruntime/options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "plan/device.h"

namespace ridge::engine::onnxruntime {
namespace {

constexpr std::string_view kOwn = "ridge.";
constexpr std::string_view kThreads = "ridge.shared_threads";
constexpr std::string_view kArena = "ridge.arena.";
constexpr std::string_view kDimension = "ridge.dimension.";
constexpr std::string_view kRun = "memory.";  // ONNX Runtime reads these with each run

// Keys of OrtApi::CreateArenaCfgV2, as onnxruntime_c_api.h documents them.
constexpr std::array<std::string_view, 6> kArenaKeys = {"max_mem",
                                                        "arena_extend_strategy",
                                                        "initial_chunk_size_bytes",
                                                        "max_dead_bytes_per_chunk",
                                                        "initial_growth_chunk_size_bytes",
                                                        "max_power_of_two_extend_bytes"};

Result<int64_t> read_number(const std::string& key, const std::string& value, int64_t least, int64_t most) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error == std::errc() && end == value.data() + value.size() && number >= least && number <= most) return number;
  return Error{Code::kInvalid, "engine option " + key + "=" + value + ": expected a number between " +
                                   std::to_string(least) + " and " + std::to_string(most)};
}

Status read_own(const std::string& key, const std::string& value, EngineOptions& options) {
  constexpr int64_t kMost = int64_t{1} << 50;
  if (key == kThreads) {
    RIDGE_ASSIGN(int64_t number, read_number(key, value, 1, 4096));
    options.shared.threads = static_cast<int>(number);
    return {};
  }
  if (key.starts_with(kDimension)) {
    RIDGE_ASSIGN(options.dimensions[key.substr(kDimension.size())], read_number(key, value, 1, kMost));
    return {};
  }
  const std::string_view arena = key.starts_with(kArena) ? std::string_view(key).substr(kArena.size()) : "";
  if (std::find(kArenaKeys.begin(), kArenaKeys.end(), arena) != kArenaKeys.end()) {
    RIDGE_ASSIGN(options.shared.arena[std::string(arena)], read_number(key, value, -1, kMost));
    return {};
  }
  std::string known;
  for (std::string_view name : kArenaKeys) known += ", " + std::string(kArena) + std::string(name);
  return Error{Code::kInvalid, "engine option " + key + " is not known; there are " + std::string(kThreads) + ", " +
                                   std::string(kDimension) + "SYMBOL" + known};
}

// Reads an option of a provider that runs the model on `device`.
Status read_provider_option(const std::string& key, const std::string& value, const plan::Device& device,
                            EngineOptions& options) {
  const bool cuda = key.starts_with(kCudaPrefix);
  const std::string own = key.substr(cuda ? kCudaPrefix.size() : kTensorRtPrefix.size());
  const bool used = cuda ? plan::is_nvidia(device) : device.kind == plan::DeviceKind::kTensorRt;
  if (!used)
    return Error{Code::kInvalid, "engine option " + key + " has no effect on " + plan::device_name(device) +
                                     "; it needs --device " + (cuda ? "cuda:N" : "tensorrt:N")};
  RIDGE_TRY(check_provider_option(cuda ? GpuProvider::kCuda : GpuProvider::kTensorRt, own, value));
  (cuda ? options.cuda : options.tensorrt)[own] = value;
  return {};
}

}  // namespace

Result<EngineOptions> engine_options(const plan::Plan& plan) {
  EngineOptions options;
  options.shared.spin = plan.spin;
  RIDGE_ASSIGN(const plan::Device device, plan::device_from_name(plan.device));
  for (const auto& [key, value] : plan.options) {
    if (key.starts_with(kOwn))
      RIDGE_TRY(read_own(key, value, options));
    else if (key.starts_with(kCudaPrefix) || key.starts_with(kTensorRtPrefix))
      RIDGE_TRY(read_provider_option(key, value, device, options));
    else
      (key.starts_with(kRun) ? options.run : options.session)[key] = value;
  }
  return options;
}

}  // namespace ridge::engine::onnxruntime
