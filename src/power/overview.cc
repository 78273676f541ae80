#include "power/overview.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "doctor/gather_gpus.h"
#include "gpu/slowdown.h"
#include "machine/energy_meter.h"
#include "power/packages.h"

namespace ridge::power {
namespace {

constexpr std::chrono::milliseconds kPowerWindow(250);

bool speaks_of_power(std::string_view name) {
  constexpr std::string_view kBegins[] = {"name",          "uuid",      "pci_address", "power_",        "energy_",
                                          "temperature_c", "slowdown_", "sm_clock_",   "memory_clock_", "performance_"};
  return std::any_of(std::begin(kBegins), std::end(kBegins),
                     [&](std::string_view begin) { return name.starts_with(begin); });
}

Json gpu_json(const VendorsGpus& vendor, const gpu::Gpu& gpu) {
  Json json;
  FieldWriter visit(json);
  visit("maker", vendor.vendor);
  visit("library", vendor.library);
  visit("index", gpu.index);
  visit.unless_empty("failure", gpu.failure);
  gpu::visit_readings(gpu, [&](const char* name, const auto& reading) {
    if (speaks_of_power(name)) visit(name, reading);
  });
  if (gpu.slowdown_bits) visit("slowdown", gpu::decode_slowdown(static_cast<uint64_t>(*gpu.slowdown_bits)));
  return json;
}

Json cpu_json(const gpu::Reading<State>& cpu) {
  Json json;
  FieldWriter visit(json);
  if (!cpu) return visit("reason", cpu.reason), json;
  visit("power_mw", cpu->power_mw);
  visit("power_limit_mw", cpu->limit_mw);
  visit("power_limit_max_mw", cpu->limit_max_mw);
  visit("energy_mj", cpu->energy_mj);
  return json;
}

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

Json to_json(const Overview& overview) {
  Json gpus = Json::array(), reasons = Json::object();
  for (const VendorsGpus& vendor : overview.vendors) {
    for (const gpu::Gpu& gpu : vendor.gpus) gpus.push_back(gpu_json(vendor, gpu));
    if (vendor.gpus.empty()) reasons[vendor.vendor] = vendor.reason.message;
  }
  return {{"cards", gpus}, {"processor", cpu_json(overview.cpu)}, {"reasons", reasons}};
}

}  // namespace ridge::power
