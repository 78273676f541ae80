#include "app/known_machine.h"

#include "limits/limits_store.h"

namespace ridge::app {

Result<machine::Machine> know_machine(bool fresh, bool keep_disturbed, const RunControl& control) {
  limits::LimitOptions how;
  how.fresh = fresh;
  how.keep_disturbed = keep_disturbed;
  how.interrupted = control.interrupted;
  how.progress = [&](const std::string& step, double share) { control.report("this machine: " + step, share); };
  how.measuring = [&] {
    if (control.note) control.note("this machine is measured first, which takes up to 20 s more");
  };
  return limits::machine_with_limits(how);
}

}  // namespace ridge::app
