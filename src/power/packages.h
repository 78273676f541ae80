// The CPU's packages as a device with a power limit: the RAPL zones of Linux's power capping framework
// (Documentation/power/powercap/powercap.rst; energy: machine/energy_meter.h). A limit is the long-term one
// ("constraint_0") of all packages together, in their current proportion.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "power/power_control.h"

namespace ridge::power {

constexpr const char* kCpuId = "cpu";

// Prefix of /sys: RIDGE_POWER_ROOT, for tests; usually empty.
std::string system_root();

// Folders of the packages with a power limit, ascending. `root`: prefix of /sys.
std::vector<std::string> package_zones(const std::string& root = system_root());

// kNotFound: no RAPL zone with a limit (usual in virtual machines and containers).
Result<std::unique_ptr<PowerControl>> open_packages(const std::string& root = system_root(),
                                                    const Clock& clock = system_clock());

}  // namespace ridge::power
