// Settings that are held on devices and undone when it ends: by restore(), by the destructor, or by the guard process if
// this one is killed. Move-only; one thread. What it holds must outlive it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "power/guard.h"
#include "power/power_control.h"
#include "power/record.h"

namespace ridge::power {

// What the guard does with its order: the settings from before on every device named in it, unless another process has
// taken the device over. Says on stderr what it did.
void undo(const std::string& folder, const std::string& order);

class ScopedSetting {
 public:
  // Claims the devices, tells the guard, then sets each; if one refuses, those already set are restored. What a process
  // left behind earlier counts as not set: what was before that one is what will be restored.
  // `folder`: see record.h; if it cannot be written, the settings are held all the same and warning() says so.
  static Result<ScopedSetting> take(Knobs& knobs, const Settings& settings, Guard& guard, const std::string& folder);
  ScopedSetting(ScopedSetting&& other) noexcept = default;
  ScopedSetting& operator=(ScopedSetting&& other) noexcept = delete;
  ~ScopedSetting();

  // Undoes everything, also after a failure in between; nothing the second time. The error names what is left set.
  Status restore();
  const std::string& warning() const { return warning_; }

 private:
  struct Device {
    PowerControl* knob;
    PreviousSetting before;   // what was
    PreviousSetting applied;  // as much of it as has to be restored
    std::optional<Claim> claim;
    bool left;  // set by an earlier process that did not restore it
  };
  explicit ScopedSetting(Guard& guard) : guard_(&guard) {}
  Status add(PowerControl& knob, const Settings& settings, const std::string& folder);
  Status note(const Settings& settings);

  Guard* guard_;
  std::vector<Device> devices_;
  std::string warning_;
};

}  // namespace ridge::power
