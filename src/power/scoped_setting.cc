#include "power/scoped_setting.h"

#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

namespace ridge::power {
namespace {

// The guard's order.
std::string order_of(const std::vector<PreviousSetting>& before) {
  Json list = Json::array();
  for (const PreviousSetting& one : before) list.push_back(json_of(one));
  return dump_json(Json{{"process", getpid()}, {"before", list}});
}

// Only the guard prints outside cli/: no other process is left to do it.
void say_on_stderr(const std::string& text) {
  const std::string line = "ridge power (guard): " + text + "\n";
  if (write(STDERR_FILENO, line.data(), line.size()) < 0) return;
}

// The device is still held here: the record names this process, or there never was one.
bool still_ours(const Result<Claim>& claim, int64_t process) {
  return !claim || !claim->left_behind() || claim->left_behind()->process == process;
}

void undo_one(const std::string& folder, int64_t process, const PreviousSetting& before) {
  // Waits for a process that took the device meanwhile; that one restored the state before this one.
  Result<Claim> claim = Claim::take(folder, before.id, true);
  if (claim && !claim->left_behind()) return;
  if (!still_ours(claim, process)) return;
  Result<PowerControls> controls = open_power_controls({before.id});
  Status restored = controls ? restore(*controls->front(), before) : Status(controls.error());
  if (!restored)
    return say_on_stderr(
        fmt::format("process {} ended and {} could not be restored: {}; `ridge power set --reset --device {}` does it",
                    process, before.name, restored.error().message, before.id));
  if (claim) claim->clear();
  say_on_stderr(fmt::format("process {} ended; {} restored: {}", process, before.name, before_text(before)));
}

}  // namespace

void undo(const std::string& folder, const std::string& order) {
  Result<Json> json = parse_json(order, "the guard's order");
  if (!json) return;
  Result<int64_t> process = json_member<int64_t>(*json, "process");
  auto list = json->find("before");
  if (!process || list == json->end()) return;
  for (const Json& entry : *list)
    if (Result<PreviousSetting> before = from_json<PreviousSetting>(entry)) undo_one(folder, *process, *before);
}

Result<ScopedSetting> ScopedSetting::take(PowerControls& controls, const Settings& settings, Guard& guard,
                                          const std::string& folder) {
  for (const std::unique_ptr<PowerControl>& control : controls) {
    RIDGE_ASSIGN(State state, control->state());
    RIDGE_TRY(check(settings, state, control->name()));
  }
  ScopedSetting hold(guard);
  for (const std::unique_ptr<PowerControl>& control : controls) RIDGE_TRY(hold.add(*control, settings, folder));
  RIDGE_TRY(hold.note(settings));
  for (Device& device : hold.devices_)
    if (Status set = apply(*device.control, settings, device.before, device.applied); !set) {
      Status undone = hold.restore();
      if (undone) return set.error();
      return Error{set.error().code, set.error().message + "; and " + undone.error().message};
    }
  return hold;
}

Status ScopedSetting::add(PowerControl& control, const Settings& settings, const std::string& folder) {
  Device device{&control, {}, {}, std::nullopt, false};
  Result<Claim> claim = Claim::take(folder, control.id());
  if (!claim && claim.error().code == Code::kUnavailable) return claim.error();
  RIDGE_ASSIGN(device.before, before_of(control, settings));
  if (claim && claim->left_behind()) {
    const PreviousSetting& older = claim->left_behind()->before;
    device.left = true;
    if (older.limit_mw) device.before.limit_mw = older.limit_mw;
    device.before.unlock_clocks |= older.unlock_clocks;
    device.before.unlock_memory_clocks |= older.unlock_memory_clocks;
  }
  if (claim)
    device.claim = std::move(*claim);
  else
    warning_ = fmt::format("this setting is not recorded, so other processes cannot see it: {}", claim.error().message);
  devices_.push_back(std::move(device));
  return {};
}

// Before any change, so that the setting can be undone at any moment.
Status ScopedSetting::note(const Settings& settings) {
  std::vector<PreviousSetting> before;
  for (Device& device : devices_) {
    if (device.claim) RIDGE_TRY(device.claim->write({getpid(), settings, device.before, true}));
    before.push_back(device.before);
  }
  return guard_->tell(order_of(before));
}

ScopedSetting::~ScopedSetting() { (void)restore(); }

Status ScopedSetting::restore() {
  if (devices_.empty()) return {};
  std::string left;
  for (Device& device : devices_) {
    Status restored = power::restore(*device.control, device.applied);
    // An earlier process's settings remain if nothing was changed here.
    const bool undone = restored && (!device.left || before_text(device.applied) != "");
    if (undone && device.claim) device.claim->clear();
    if (!restored)
      left += fmt::format("{}{} is not restored ({}): {}", left.empty() ? "" : "; ", device.before.name,
                          before_text(device.applied), restored.error().message);
  }
  devices_.clear();
  guard_->release();
  if (left.empty()) return {};
  return Error{Code::kFailed, left + "; `ridge power set --reset` as root sets the vendor's defaults"};
}

}  // namespace ridge::power
