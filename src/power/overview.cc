#include "power/overview.h"

#include <algorithm>

#include "doctor/gather_gpus.h"
#include "machine/energy_meter.h"
#include "power/packages.h"

namespace ridge::power {
namespace {

constexpr std::chrono::milliseconds kPowerWindow(250);

// A counter alone: power without a settable limit.
gpu::Reading<State> look_at_counter(const std::string& root, const Error& no_limit, Clock& clock) {
  Result<machine::EnergyMeter> meter = machine::EnergyMeter::open(root, machine::EnergyMeter::Of::kPackages);
  if (!meter) return meter.error();
  const TimePoint begin = clock.now();
  clock.sleep_for(kPowerWindow);
  Result<double> joules = meter->joules();
  if (!joules) return joules.error();
  State state;
  state.power_mw = static_cast<int64_t>(*joules / to_seconds(clock.now() - begin) * 1000);
  state.energy_mj = static_cast<int64_t>(*joules * 1000);
  state.limit_mw = state.limit_set_mw = state.limit_max_mw = state.limit_min_mw = no_limit;
  return state;
}

gpu::Reading<State> look_at_cpu(const std::string& root, Clock& clock) {
  Result<std::unique_ptr<PowerControl>> packages = open_packages(root, clock);
  if (!packages) return look_at_counter(root, packages.error(), clock);
  if (Result<State> first = (*packages)->state(); !first) return first.error();
  clock.sleep_for(kPowerWindow);
  return (*packages)->state();
}

}  // namespace

bool Overview::anything() const {
  for (const VendorsGpus& vendor : vendors)
    for (const gpu::Gpu& gpu : vendor.gpus)
      if (gpu.power_mw || gpu.power_limit_mw || gpu.energy_mj) return true;
  return cpu && (cpu->power_mw || cpu->limit_mw);
}

bool Overview::all_answer() const {
  for (const VendorsGpus& vendor : vendors) {
    if (vendor.reason.code == Code::kTimeout) return false;
    for (const gpu::Gpu& gpu : vendor.gpus)
      if (!gpu.failure.empty()) return false;
  }
  return true;
}

Overview look(Nanoseconds limit, Clock& clock) {
  Overview overview;
  machine::Tree tree = doctor::gather_gpus(limit, system_root());
  for (doctor::VendorsSystem& of : doctor::gpus_in(tree))
    overview.vendors.push_back({std::string(machine::vendor_name(of.vendor)), of.library,
                                of.system ? of.system->gpus : std::vector<gpu::Gpu>{},
                                of.system ? Error{} : of.system.error()});
  overview.cpu = look_at_cpu(system_root(), clock);
  overview.packages = package_zones().size();
  return overview;
}

Status choose(Overview& overview, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    std::string known;
    bool found = false;
    for (const VendorsGpus& vendor : overview.vendors)
      for (const gpu::Gpu& gpu : vendor.gpus) {
        known += (known.empty() ? "" : ", ") + std::to_string(gpu.index);
        found |= is_named(gpu, name);
      }
    if (!found && name != "cpu")
      return invalid("--device " + name + ": there is no such GPU; there are: " + (known.empty() ? "none" : known));
  }
  if (names.empty()) return {};
  for (VendorsGpus& vendor : overview.vendors) {
    std::erase_if(vendor.gpus, [&](const gpu::Gpu& gpu) {
      return std::none_of(names.begin(), names.end(), [&](const std::string& name) { return is_named(gpu, name); });
    });
    if (vendor.gpus.empty() && vendor.reason.message.empty()) vendor.reason.message = "not asked for";
  }
  return {};
}

std::vector<GpuPower> Overview::gpus() const {
  std::vector<GpuPower> all;
  for (const VendorsGpus& vendor : vendors)
    for (const gpu::Gpu& gpu : vendor.gpus) all.push_back({vendor.vendor, vendor.library, gpu});
  return all;
}

}  // namespace ridge::power
