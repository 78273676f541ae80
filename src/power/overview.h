// The power of every device here: GPUs of all vendors, the CPU's packages.
#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "gpu/gpu.h"
#include "power/settings.h"

namespace ridge::power {

struct VendorsGpus {
  std::string vendor;   // "NVIDIA"
  std::string library;  // as origin: "NVML"
  std::vector<gpu::Gpu> gpus;
  Error reason;  // why there are none
};

struct Overview {
  std::vector<VendorsGpus> vendors;
  gpu::Reading<State> cpu;  // its power over a quarter of a second
  size_t packages = 0;      // of the CPU whose limit can be set
  bool anything() const;    // some device reports its power or its limit
  bool all_answer() const;  // no GPU is lost, no library hangs
};

// Reports a library that does not answer within `limit`. Call it while the process has one thread.
Overview look(Nanoseconds limit, Clock& clock = system_clock());

// Keeps GPUs with these names (index, UUID, PCI address); empty: all. The error lists the GPUs present.
Status choose(Overview& overview, const std::vector<std::string>& names);

Json to_json(const Overview& overview);

}  // namespace ridge::power
