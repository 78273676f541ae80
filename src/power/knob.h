// A device whose power can be limited: a card by its maker's library, the processor's packages by RAPL.
// One thread, but for state(), which may be asked from a second one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "power/settings.h"

namespace ridge::power {

class Knob {
 public:
  virtual ~Knob() = default;
  virtual const std::string& id() const = 0;    // stable across processes and reboots: a card's UUID, "cpu"
  virtual const std::string& name() const = 0;  // for people: "GPU 0 (NVIDIA H100 80GB HBM3)"
  // Error: the device as a whole does not answer.
  virtual Result<State> state() = 0;
  virtual Status set_limit(int64_t limit_mw) = 0;
  virtual Status lock_clocks(const ClockRange& range) = 0;
  virtual Status unlock_clocks() = 0;
  virtual Status lock_memory_clocks(const ClockRange& range) = 0;
  virtual Status unlock_memory_clocks() = 0;
};

using Knobs = std::vector<std::unique_ptr<Knob>>;

// Whether a card is meant by its index as the library counts, its UUID or its PCI address.
bool is_named(const gpu::Card& card, const std::string& name);

// The devices with these names: a card by its index as NVML counts, its UUID or PCI address; "cpu". Empty: every card of
// NVIDIA. Errors name what there is, or why there is nothing.
Result<Knobs> open_knobs(const std::vector<std::string>& names);

// What `settings` changes and how it is now, so that it can be undone. The limit that was set is remembered, not the one in
// force, which may be lower for a while.
Result<Before> before_of(Knob& knob, const Settings& settings);
// All of the settings, in order; the first refusal ends it. `applied` gets from `before` what undoes those that were made.
Status apply(Knob& knob, const Settings& settings, const Before& before, Before& applied);
Status restore(Knob& knob, const Before& before);
// The maker's default limit and unlocked clocks.
Status reset(Knob& knob);

}  // namespace ridge::power
