// The power of every device here: GPUs of all vendors, the CPU's packages.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/figure.h"
#include "gpu/gpu.h"
#include "gpu/slowdown.h"
#include "power/settings.h"

namespace ridge::power {

struct VendorsGpus {
  std::string vendor;   // "NVIDIA"
  std::string library;  // as origin: "NVML"
  std::vector<gpu::Gpu> gpus;
  Error reason;  // why there are none
};

struct GpuPower {
  std::string vendor, library;
  gpu::Gpu gpu;
};
// Of its readings those on power, energy, heat and clocks.
void visit_fields(auto& visit, Is<GpuPower> auto& of) {
  const auto is_of_power = [](std::string_view name) {
    constexpr std::string_view kBegins[] = {"name",      "uuid",      "pci_address",   "power_",        "energy_",
                                            "slowdown_", "sm_clock_", "memory_clock_", "temperature_c", "performance_"};
    return std::ranges::any_of(kBegins, [&](std::string_view begin) { return name.starts_with(begin); });
  };
  visit("maker", of.vendor);
  visit("library", of.library, means("which library reported it"));
  visit("index", of.gpu.index);
  visit.unless_empty("failure", of.gpu.failure, means("why the GPU as a whole does not answer"));
  gpu::visit_readings(of.gpu, [&](const char* name, auto& reading, const auto&... figure) {
    if (is_of_power(name)) visit(name, reading, figure...);
  });
  std::optional<std::vector<gpu::Slowdown>> slowdown;
  if (of.gpu.slowdown_bits) slowdown = gpu::decode_slowdown(static_cast<uint64_t>(*of.gpu.slowdown_bits));
  visit.unless_empty("slowdown", slowdown, means("`kind`: harmless, power, thermal or hardware"));
}

struct Overview {
  std::vector<VendorsGpus> vendors;
  gpu::Reading<State> cpu;  // its power over a quarter of a second
  size_t packages = 0;      // of the CPU whose limit can be set
  std::vector<GpuPower> gpus() const;
  bool anything() const;    // some device reports its power or its limit
  bool all_answer() const;  // no GPU is lost, no library hangs
};

void visit_fields(auto& visit, const Overview& overview) {
  visit("cards", overview.gpus(), means("readings as in src/gpu/gpu.h; one that is not known as `{\"reason\": …}`"));
  visit("processor", overview.cpu, means("of the CPU's packages, or a reason"));
  std::vector<std::pair<std::string, std::string>> reasons;
  for (const VendorsGpus& vendor : overview.vendors)
    if (vendor.gpus.empty()) reasons.emplace_back(vendor.vendor, vendor.reason.message);
  visit("reasons", reasons, means("by vendor: why there is no GPU of it"));
}

// Reports a library that does not answer within `limit`. Call it while the process has one thread.
Overview look(Nanoseconds limit, Clock& clock = system_clock());

// Keeps GPUs with these names (index, UUID, PCI address); empty: all. The error lists the GPUs present.
Status choose(Overview& overview, const std::vector<std::string>& names);

}  // namespace ridge::power
