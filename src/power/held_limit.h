// A power limit that is restored when its holder ends: on restore(), by the destructor, and by a guard process if this
// one is killed or crashes.
#pragma once

#include <optional>
#include <string>

#include "power/guard.h"
#include "power/power_control.h"

namespace ridge::power {

// Work of the guard's process: restores the limit that `order` names, and says so on stderr.
void undo(const std::string& order);

// Move-only; one thread.
class HeldLimit {
 public:
  // Remembers the limit that is set now, here and in `guard`; changes nothing. Both must outlive it.
  static Result<HeldLimit> take(PowerControl& control, Guard& guard);
  HeldLimit(HeldLimit&& other) noexcept : control_(other.control_), guard_(other.guard_), before_mw_(other.before_mw_) {
    other.before_mw_.reset();
  }
  HeldLimit& operator=(HeldLimit&&) = delete;
  ~HeldLimit();

  // Does nothing the second time. The error names what is left set.
  Status restore();

 private:
  HeldLimit(PowerControl& control, Guard& guard, int64_t before_mw)
      : control_(&control), guard_(&guard), before_mw_(before_mw) {}
  PowerControl* control_;
  Guard* guard_;
  std::optional<int64_t> before_mw_;  // absent: restored
};

}  // namespace ridge::power
