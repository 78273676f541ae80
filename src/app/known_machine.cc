#include "app/known_machine.h"

#include "limits/limits_store.h"

namespace ridge::app {

Result<machine::Machine> know_machine(bool fresh, const RunControl& control, const std::function<Status()>& can_run) {
  limits::LimitOptions how;
  how.fresh = fresh;
  how.interrupted = control.interrupted;
  how.progress = [&](const std::string& step, double share) { control.report("this machine: " + step, share); };
  how.measuring = [&]() -> Status {
    if (can_run) RIDGE_TRY(can_run());
    if (control.note) control.note("this machine is measured first, which takes up to 30 s more");
    return {};
  };
  return limits::machine_with_limits(how);
}

}  // namespace ridge::app
