// A device whose power can be limited: a GPU by its vendor's library, the CPU's packages by RAPL.
// One thread, but for state(), which may be asked from a second one.
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

using Knobs = std::vector<std::unique_ptr<PowerControl>>;

// Whether a GPU is meant by its index as the library counts, its UUID or its PCI address.
bool is_named(const gpu::Gpu& gpu, const std::string& name);

// The devices with these names: a GPU by its index as NVML counts, its UUID or PCI address; "cpu". Empty: every GPU of
// NVIDIA. Errors name what there is, or why there is nothing.
Result<Knobs> open_knobs(const std::vector<std::string>& names);

// What `settings` changes and how it is now, so that it can be undone. The limit that was set is remembered, not the one in
// force, which may be lower for a while.
Result<PreviousSetting> before_of(PowerControl& knob, const Settings& settings);
// All of the settings, in order; the first refusal ends it. `applied` gets from `before` what undoes those that were made.
Status apply(PowerControl& knob, const Settings& settings, const PreviousSetting& before, PreviousSetting& applied);
Status restore(PowerControl& knob, const PreviousSetting& before);
// The vendor's default limit and unlocked clocks.
Status reset(PowerControl& knob);

}  // namespace ridge::power
