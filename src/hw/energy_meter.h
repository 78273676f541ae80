// EnergyMeter: what the machine's own counters say it consumed. For the processor these are the RAPL zones of Linux's power
// capping framework (Documentation/power/powercap/powercap.rst): every package and, where it is counted apart, its DRAM.
// They count the whole package, idle cores and other processes included. For a card see gpu::Card::energy_mj.
//
// No counter (virtual machine, container, other processor) and no permission (energy_uj is readable by root alone since
// Linux 5.10, CVE-2020-8694) are errors with the reason; consumption is never guessed here. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace ridge::hw {

class EnergyMeter {
 public:
  enum class Of { kPackagesAndMemory, kPackages };
  // `root` prefixes /sys (tests pass a tree).
  static Result<EnergyMeter> open(const std::string& root = "", Of of = Of::kPackagesAndMemory);

  // Consumed since open() [J]. Must be called before a counter has gone round twice unseen: 262 kJ on common
  // processors, 15 minutes at 300 W.
  Result<double> joules();
  // The counters: "RAPL package-0, dram".
  std::string source() const;

 private:
  struct Counter {
    std::string name;
    std::string file;
    int64_t range_uj = 0;  // the value after which it starts again at 0
    int64_t last_uj = 0;
  };
  std::vector<Counter> counters_;
  double joules_ = 0;
};

// Of a counter that starts again at 0 after `range_uj`, at most once between the two readings [µJ].
int64_t energy_between(int64_t before_uj, int64_t after_uj, int64_t range_uj);

}  // namespace ridge::hw
