// EnergyMeter: the energy consumed, from the machine's own counters. For the CPU these are the RAPL zones of Linux's
// power capping framework (Documentation/power/powercap/powercap.rst): every package and, where it is counted apart,
// its DRAM. They count the whole package, idle cores and other processes included.
//
// No counter (virtual machine, container, other CPU) and no permission (energy_uj is readable by root alone since
// Linux 5.10, CVE-2020-8694) are errors with the reason; consumption is never guessed here. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace ridge::machine {

struct EnergyCounter {
  std::string name;
  std::function<Result<int64_t>()> read_uj;
  int64_t range_uj = 0;  // the value after which it restarts at 0; 0: it never does
};

class EnergyMeter {
 public:
  enum class Of { kPackagesAndMemory, kPackages };
  // Meters the CPU. `root` prefixes /sys (tests pass a tree).
  static Result<EnergyMeter> open(const std::string& root = "", Of of = Of::kPackagesAndMemory);
  // Meters these counters, which add up; each moves at least every `step_seconds`.
  static Result<EnergyMeter> of_counters(std::vector<EnergyCounter> counters, double step_seconds);

  // Consumed since open() [J]. Must be called before a counter wraps around twice: 262 kJ on common
  // CPUs, 15 minutes at 300 W.
  Result<double> joules();
  // The counters: "RAPL package-0, dram".
  std::string source() const;
  // A measurement must last many of these steps, because the counters stand still in between.
  double step_seconds() const { return step_seconds_; }

 private:
  struct CounterState {
    EnergyCounter counter;
    int64_t last_uj = 0;
  };
  std::vector<CounterState> counters_;
  double step_seconds_ = 0;
  double joules_ = 0;
};

// Steps of the counters that a measurement must last, so that at most a tenth of it is not yet counted.
constexpr int kLeastEnergySteps = 10;

// For a counter that wraps around at `range_uj`, at most once between the two readings [µJ].
int64_t energy_between(int64_t before_uj, int64_t after_uj, int64_t range_uj);

}  // namespace ridge::machine
