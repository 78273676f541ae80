// A device with a power limit: a GPU through its vendor's library, the CPU's packages through RAPL. One thread, except state(),
// which a second one may call.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "power/settings.h"

namespace ridge::power {

class PowerControl {
 public:
  virtual ~PowerControl() = default;
  virtual const std::string& id() const = 0;    // stable across processes and reboots: a GPU's UUID, "cpu"
  virtual const std::string& name() const = 0;  // for people: "GPU 0 (NVIDIA H100 80GB HBM3)"
  // Error: the device as a whole does not answer.
  virtual Result<State> state() = 0;
  virtual Status set_limit(int64_t limit_mw) = 0;
  virtual Status lock_clocks(const ClockRange& range) = 0;
  virtual Status unlock_clocks() = 0;
  virtual Status lock_memory_clocks(const ClockRange& range) = 0;
  virtual Status unlock_memory_clocks() = 0;
};

using PowerControls = std::vector<std::unique_ptr<PowerControl>>;

// Whether the name is this GPU's index in the library, UUID or PCI address.
bool is_named(const gpu::Gpu& gpu, const std::string& name);

// The devices with these names: a GPU by its NVML index, UUID or PCI address; "cpu". Empty: every NVIDIA GPU. Errors list the
// devices present, or why there are none.
Result<PowerControls> open_power_controls(const std::vector<std::string>& names);

// The current state of what `settings` changes, for undoing. Stores the requested limit, not the enforced one, which may be
// temporarily lower.
Result<PreviousSetting> before_of(PowerControl& control, const Settings& settings);
// All of the settings, in order; the first error ends it. `applied` receives the part of `before` that undoes the changes
// made.
Status apply(PowerControl& control, const Settings& settings, const PreviousSetting& before, PreviousSetting& applied);
Status restore(PowerControl& control, const PreviousSetting& before);
// The vendor's default limit and unlocked clocks.
Status reset(PowerControl& control);

}  // namespace ridge::power
