#include "lab/device.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "lab/kernels.h"

namespace ridge::lab {
namespace {

class KernelCase : public PreparedCase {
 public:
  KernelCase(std::unique_ptr<gpu::Workspace> workspace, TimeScope time_scope)
      : workspace_(std::move(workspace)), time_scope_(time_scope) {}

  Status make(const Case& work) {
    for (size_t i = 0; i < work.buffers.size(); ++i)
      RIDGE_TRY(workspace_->add(work.buffers[i], i < work.memory.size() ? work.memory[i] : gpu::MemoryKind::kDevice));
    if (work.kernels.empty()) return {};
    Status built = workspace_->build(kernel_source(work.kernels));
    return built ? built : Status(wrap(built.error(), "kernels/" + work.kernels + ".cu"));
  }
  Result<double> seconds(const Variant& variant, int repeats) override {
    RIDGE_ASSIGN(gpu::LaunchTime time, run(variant, repeats));
    return time_scope_ == TimeScope::kDevice ? time.device_seconds : time.whole_seconds;
  }
  std::optional<gpu::Residency> residency(const Variant& variant) override {
    if (variant.launches.empty()) return std::nullopt;
    Result<gpu::Residency> residency = workspace_->residency(variant.launches.front());
    return residency ? std::optional(*residency) : std::nullopt;
  }
  Status put(size_t buffer, std::span<const float> content) override { return workspace_->write({buffer}, content); }
  Status get(size_t buffer, std::span<float> content) override { return workspace_->read({buffer}, content); }

 private:
  Result<gpu::LaunchTime> run(const Variant& variant, int repeats) {
    if (!variant.recorded)
      return variant.steps.empty() ? workspace_->run(variant.launches, repeats)
                                   : workspace_->run(variant.steps, repeats);
    auto found = recordings_.find(&variant);
    if (found == recordings_.end()) {
      RIDGE_ASSIGN(gpu::Recording made, workspace_->record(variant.launches));
      found = recordings_.emplace(&variant, made).first;
    }
    const gpu::Step step{found->second};
    return workspace_->run({&step, 1}, repeats);
  }

  std::unique_ptr<gpu::Workspace> workspace_;
  TimeScope time_scope_;
  std::map<const Variant*, gpu::Recording> recordings_;  // created at the first run
};

// Why the vendor's matrix multiplications are not available; empty: they are.
std::string why_without_library(gpu::Workspace& workspace) {
  const Result<gpu::GemmPlan> plan = workspace.plan({Precision::kFp32, 16, 16, 16});
  return plan ? "" : "nothing is compared with the vendor's matrix multiplications: " + plan.error().message;
}

// 0: not known, or the device's own.
int compiled_for(const gpu::DeviceFacts& facts, const gpu::Workspace& workspace) {
  const Result<int> code = workspace.code_architecture();
  return code && *code != architecture_of(facts) ? *code : 0;
}

// True if the compiler and the driver have what kernels/warp_group.cu needs: of CUDA 12.0 at least.
bool has_warp_groups(const gpu::DeviceFacts& facts, gpu::Workspace& workspace) {
  if (architecture_of(facts) != 90) return false;
  const std::string source =
      "#if !defined(__OPENCL_VERSION__) && !defined(__CUDA_ARCH_FEAT_SM90_ALL)\n#error\n#endif\n" +
      kernel_source("half warp_matrix warp_rows warp_group") + "KERNEL takes_a_tensor(TENSOR matrix) {}\n";
  if (!workspace.build(source)) return false;
  Result<gpu::BufferNumber> buffer = workspace.add_bytes(1024, gpu::MemoryKind::kDevice);
  if (!buffer) return false;
  const gpu::Launch launch = {"takes_a_tensor", {1}, {32}, {gpu::BoxedMatrix{*buffer, 8, 32, 8}}};
  return static_cast<bool>(workspace.run({&launch, 1}));
}

}  // namespace

Result<Device> open_kernel_device(std::string_view name) {
  RIDGE_ASSIGN(const gpu::Device opened, gpu::open_device(name));
  const gpu::DeviceFacts& facts = opened.facts;
  const bool cuda = facts.dialect == gpu::Dialect::kCuda;
  Device device;
  device.kind = cuda ? "cuda" : "opencl";
  device.text = fmt::format("{} ({}, {})", facts.name, facts.software,
                            cuda ? "compute capability " + facts.capability : facts.kind);
  device.target.last_cache_bytes = facts.last_cache_bytes;
  device.target.threads_per_block = facts.threads_per_block;
  device.target.cpu = runs_on_cpu(facts);
  if (!device.target.cpu) device.target.multiprocessors = facts.compute_units;
  device.target.unified_memory = facts.unified_memory;
  device.target.architecture = architecture_of(facts);
  RIDGE_ASSIGN(const std::unique_ptr<gpu::Workspace> probe, opened.open_workspace(gpu::Timing::kByHost));
  device.target.compiled_for = compiled_for(facts, *probe);
  if (cuda) device.note = why_without_library(*probe);
  device.target.library = cuda && device.note.empty();
  device.target.warp_groups = has_warp_groups(facts, *probe);
  if (device.target.cpu)
    device.note =
        "this device is a CPU, where a block of threads is a loop on one core; explanations by warps, banks and "
        "multiprocessors are those of a GPU";
  device.conditions = [details = opened.details, name = facts.device, note = device.note] {
    Json json = details();
    json["device"] = name;
    json["note"] = note;
    return json;
  };
  device.prepare = [open = opened.open_workspace](const Case& work) -> Result<std::unique_ptr<PreparedCase>> {
    RIDGE_ASSIGN(std::unique_ptr<gpu::Workspace> workspace, open(gpu::Timing::kByDevice));
    auto prepared = std::make_unique<KernelCase>(std::move(workspace), work.time_scope);
    RIDGE_TRY(prepared->make(work));
    return std::unique_ptr<PreparedCase>(std::move(prepared));
  };
  return device;
}

}  // namespace ridge::lab
