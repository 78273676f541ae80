#include "app/power_set.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>

#include "power/scoped_setting.h"
#include "power/watch.h"

namespace ridge::app {
namespace {

Status reset_one(power::PowerControl& power_control, const std::string& folder) {
  Result<power::Claim> claim = power::Claim::take(folder, power_control.id());
  if (!claim && claim.error().code == Code::kUnavailable) return claim.error();
  RIDGE_TRY(power::reset(power_control));
  if (claim) claim->clear();
  return {};
}

// Of `ridge`, with devices by names that do not change.
std::vector<std::string> service_arguments(const PowerServiceRequest& request,
                                           const power::PowerControls& power_controls) {
  std::vector<std::string> ids;
  for (const std::unique_ptr<power::PowerControl>& power_control : power_controls) ids.push_back(power_control->id());
  std::vector<std::string> arguments = {"power", "set", "--device", fmt::format("{}", fmt::join(ids, ","))};
  arguments.insert(arguments.end(), request.arguments.begin(), request.arguments.end());
  return arguments;
}

}  // namespace

std::vector<Error> reset_power(power::PowerControls& power_controls, const std::string& folder) {
  std::vector<Error> failures;
  for (const std::unique_ptr<power::PowerControl>& power_control : power_controls)
    if (Status done = reset_one(*power_control, folder); !done) failures.push_back(done.error());
  return failures;
}

Result<std::string> persist_power(power::PowerControls& power_controls, const PowerServiceRequest& request) {
  for (const std::unique_ptr<power::PowerControl>& power_control : power_controls) {
    RIDGE_ASSIGN(const power::State state, power_control->state());
    RIDGE_TRY(power::check(request.settings, state, power_control->name()));
  }
  std::error_code ignored;
  const std::string program = std::filesystem::read_symlink("/proc/self/exe", ignored).string();
  std::string text = power::unit_text(program, service_arguments(request, power_controls),
                                      "ridge holds the " + power::settings_text(request.settings));
  RIDGE_TRY(power::install_unit(text, request.unit));
  return text;
}

// guard → open → hold → wait → restore
Result<PowerHold> hold_power(const PowerHoldRequest& request, const PowerHoldControl& control) {
  RIDGE_ASSIGN(power::Guard guard, power::Guard::start([folder = request.folder](const std::string& order) {
                 power::undo(folder, order);
               }));
  RIDGE_ASSIGN(power::PowerControls power_controls, request.open());
  power::hold_signals();
  RIDGE_ASSIGN(power::ScopedSetting held,
               power::ScopedSetting::take(power_controls, request.settings, guard, request.folder));
  if (!held.warning().empty()) control.warn(held.warning());
  control.held(power_controls);
  if (Status notified = power::notify_ready(); !notified) control.warn(notified.error().message);
  bool guarded = true;
  Result<int> ended = power::watch(request.command, [&] {
    if (!guarded || guard.alive()) return;
    guarded = false;
    control.warn("the guard process was ended: if this process is killed now, the setting stays");
  });
  Status restored = held.restore();
  return PowerHold{std::move(restored), std::move(ended)};
}

}  // namespace ridge::app
