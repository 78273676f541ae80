// Settings held on devices and undone at its end: by restore(), by the destructor, or by the guard process if this one is
// killed. Move-only; one thread. The devices must outlive it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "power/guard.h"
#include "power/power_control.h"
#include "power/record.h"

namespace ridge::power {

// The guard's action on its order: restores the previous settings of every device in it, unless another process has taken the
// device over. Reports on stderr.
void undo(const std::string& folder, const std::string& order);

class ScopedSetting {
 public:
  // Claims the devices, sends the guard its order, then sets each; if one refuses, those already set are restored. An earlier
  // process's leftovers count as not set: the state before that process is restored. `folder`: see record.h; if it cannot be
  // written, the settings are still held and warning() says so.
  static Result<ScopedSetting> take(PowerControls& controls, const Settings& settings, Guard& guard,
                                    const std::string& folder);
  ScopedSetting(ScopedSetting&& other) noexcept = default;
  ScopedSetting& operator=(ScopedSetting&& other) noexcept = delete;
  ~ScopedSetting();

  // Undoes everything, also after a failure in between; does nothing the second time. The error names what is left set.
  Status restore();
  const std::string& warning() const { return warning_; }

 private:
  struct Device {
    PowerControl* control;
    PreviousSetting before;   // the previous state
    PreviousSetting applied;  // the part to restore
    std::optional<Claim> claim;
    bool left;  // set by an earlier process that did not restore it
  };
  explicit ScopedSetting(Guard& guard) : guard_(&guard) {}
  Status add(PowerControl& control, const Settings& settings, const std::string& folder);
  Status note(const Settings& settings);

  Guard* guard_;
  std::vector<Device> devices_;
  std::string warning_;
};

}  // namespace ridge::power
