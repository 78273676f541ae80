// `ridge power set` but for options and text: sets limits and clocks while this process or a command runs, or by a service, and sets the
// vendor's defaults. Prints nothing.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "power/power_control.h"
#include "power/record.h"
#include "power/unit.h"

namespace ridge::app {

// Sets the vendor's defaults on every device, whichever fails; the errors of those that do. A device that another process holds is left
// to it. `folder`: see power/record.h.
std::vector<Error> reset_power(power::PowerControls& power_controls,
                               const std::string& folder = power::record_folder());

struct PowerServiceRequest {
  power::Settings settings;
  std::vector<std::string> arguments;  // the options of `ridge power set` that mean these settings
  power::UnitOptions unit;
};
// Installs the service that holds the settings; the text of its file. Errors: a device cannot have them (kInvalid); as of install_unit().
Result<std::string> persist_power(power::PowerControls& power_controls, const PowerServiceRequest& request);

struct PowerHoldRequest {
  std::function<Result<power::PowerControls>()> open;  // called once the guard process runs
  power::Settings settings;
  std::vector<std::string> command;  // empty: until a signal asks for the end
  std::string folder = power::record_folder();
};
struct PowerHoldControl {
  std::function<void(power::PowerControls& power_controls)> held;
  std::function<void(const std::string& what)> warn;
};
struct PowerHold {
  Status restored;
  Result<int> ended;  // exit status of the command
};
// Sets, waits and restores. Starts a guard process first, so call it while there is one thread. Error: nothing was set.
Result<PowerHold> hold_power(const PowerHoldRequest& request, const PowerHoldControl& control);

}  // namespace ridge::app
