#include "power/power_control.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "gpu/nvml/nvml.h"
#include "power/packages.h"

namespace ridge::power {
namespace {

// An NVIDIA GPU.
class NvidiaPowerControl : public PowerControl {
 public:
  NvidiaPowerControl(std::shared_ptr<const gpu::nvml::Nvml> library, const gpu::Gpu& gpu)
      : library_(std::move(library)), index_(gpu.index), id_(gpu.uuid ? *gpu.uuid : fmt::format("{}", gpu.index)) {
    name_ = fmt::format("GPU {} ({})", index_, gpu.name ? *gpu.name : "unknown GPU");
  }
  const std::string& id() const override { return id_; }
  const std::string& name() const override { return name_; }
  Result<State> state() override {
    gpu::Gpu gpu = library_->vitals(index_);
    if (!gpu.failure.empty()) return Error{Code::kUnavailable, fmt::format("{}: {}", name_, gpu.failure)};
    return state_of(gpu);
  }
  Status set_limit(int64_t limit_mw) override { return library_->set_power_limit(index_, limit_mw); }
  Status lock_clocks(const ClockRange& range) override {
    return library_->lock_clocks(index_, range.min_mhz, range.max_mhz);
  }
  Status unlock_clocks() override { return library_->unlock_clocks(index_); }
  Status lock_memory_clocks(const ClockRange& range) override {
    return library_->lock_memory_clocks(index_, range.min_mhz, range.max_mhz);
  }
  Status unlock_memory_clocks() override { return library_->unlock_memory_clocks(index_); }

 private:
  std::shared_ptr<const gpu::nvml::Nvml> library_;
  int index_;
  std::string id_, name_;
};

// The GPUs with these names; empty: all.
Result<PowerControls> open_gpus(const std::vector<std::string>& names) {
  Result<gpu::nvml::Nvml> opened = gpu::nvml::Nvml::open();
  if (!opened)
    return Error{
        opened.error().code,
        opened.error().message + "; power limits can be set on NVIDIA's GPUs, and with --device cpu on the CPU (RAPL)"};
  auto library = std::make_shared<const gpu::nvml::Nvml>(std::move(*opened));
  RIDGE_ASSIGN(int count, library->count());
  std::vector<gpu::Gpu> gpus;
  std::string known;
  for (int i = 0; i < count; ++i) {
    gpus.push_back(library->vitals(i));
    known += fmt::format("{}{} ({})", i == 0 ? "" : ", ", i, gpus.back().uuid ? *gpus.back().uuid : "does not answer");
  }
  if (gpus.empty()) return Error{Code::kNotFound, "NVIDIA's driver runs but has no GPU"};
  std::set<int> chosen;  // each once, also under several names
  for (const std::string& name : names) {
    auto found = std::find_if(gpus.begin(), gpus.end(), [&](const gpu::Gpu& gpu) { return is_named(gpu, name); });
    if (found == gpus.end())
      return invalid(fmt::format("--device {}: there is no such GPU; there are {}", name, known));
    chosen.insert(found->index);
  }
  PowerControls controls;
  for (const gpu::Gpu& gpu : gpus)
    if (names.empty() || chosen.contains(gpu.index))
      controls.push_back(std::make_unique<NvidiaPowerControl>(library, gpu));
  return controls;
}

}  // namespace

bool is_named(const gpu::Gpu& gpu, const std::string& name) {
  return name == std::to_string(gpu.index) || (gpu.uuid && name == *gpu.uuid) ||
         (gpu.pci_address && name == *gpu.pci_address);
}

Result<PowerControls> open_power_controls(const std::vector<std::string>& names) {
  if (names == std::vector<std::string>{"cpu"}) {
    PowerControls controls;
    RIDGE_ASSIGN(std::unique_ptr<PowerControl> packages, open_packages());
    controls.push_back(std::move(packages));
    return controls;
  }
  if (std::find(names.begin(), names.end(), "cpu") != names.end())
    return invalid("--device cpu cannot be combined: set GPUs and the CPU one after the other");
  return open_gpus(names);
}

Result<PreviousSetting> before_of(PowerControl& control, const Settings& settings) {
  PreviousSetting before{
      control.id(), control.name(), {}, settings.clocks.has_value(), settings.memory_clocks.has_value()};
  if (!settings.limit_mw) return before;
  RIDGE_ASSIGN(State state, control.state());
  if (!state.limit_set_mw)
    return Error{Code::kUnavailable,
                 fmt::format("{}: its power limit is not changed, because it could not be restored: {}", control.name(),
                             state.limit_set_mw.reason)};
  before.limit_mw = *state.limit_set_mw;
  return before;
}

Status apply(PowerControl& control, const Settings& settings, const PreviousSetting& before, PreviousSetting& applied) {
  applied = {before.id, before.name, {}, false, false};
  if (settings.limit_mw) RIDGE_TRY(control.set_limit(*settings.limit_mw));
  applied.limit_mw = before.limit_mw;
  if (settings.clocks) RIDGE_TRY(control.lock_clocks(*settings.clocks));
  applied.unlock_clocks = before.unlock_clocks;
  if (settings.memory_clocks) RIDGE_TRY(control.lock_memory_clocks(*settings.memory_clocks));
  applied.unlock_memory_clocks = before.unlock_memory_clocks;
  return {};
}

// Tries everything, even after failures.
Status restore(PowerControl& control, const PreviousSetting& before) {
  Status result;
  auto keep_first = [&](Status status) {
    if (!status && result) result = std::move(status);
  };
  if (before.limit_mw) keep_first(control.set_limit(*before.limit_mw));
  if (before.unlock_clocks) keep_first(control.unlock_clocks());
  if (before.unlock_memory_clocks) keep_first(control.unlock_memory_clocks());
  return result;
}

Status reset(PowerControl& control) {
  RIDGE_ASSIGN(State state, control.state());
  PreviousSetting defaults{control.id(), control.name(), {}, false, false};
  if (state.limit_default_mw && state.limit_set_mw) defaults.limit_mw = *state.limit_default_mw;
  RIDGE_TRY(restore(control, defaults));
  for (Status status : {control.unlock_clocks(), control.unlock_memory_clocks()})
    if (!status && status.error().code != Code::kUnsupported) return status;
  return {};
}

}  // namespace ridge::power
