#include "power/held_limit.h"

#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/fields.h"

namespace ridge::power {
namespace {

// The guard's order.
struct Order {
  int64_t process = 0;
  std::string id, name;  // of the device
  int64_t limit_mw = 0;
};
void visit_fields(auto& visit, Is<Order> auto& order) {
  visit("process", order.process);
  visit("id", order.id);
  visit("name", order.name);
  visit("limit_mw", order.limit_mw);
}

// Only the guard prints outside cli/: no other process is left to do it.
void say_on_stderr(const std::string& text) {
  const std::string line = "ridge power (guard): " + text + "\n";
  if (write(STDERR_FILENO, line.data(), line.size()) < 0) return;
}

}  // namespace

void undo(const std::string& text) {
  const Result<Json> json = parse_json(text, "the guard's order");
  const Result<Order> order = json ? from_json<Order>(*json) : json.error();
  if (!order) return;
  Result<std::unique_ptr<PowerControl>> control = open_power_control(order->id);
  const Status restored = control ? (*control)->set_limit(order->limit_mw) : Status(control.error());
  say_on_stderr(
      restored ? fmt::format("process {} ended; {} has its power limit of {} again", order->process, order->name,
                             watts_text(order->limit_mw))
               : fmt::format(
                     "process {} ended and {} could not be restored: {}; `ridge power set --reset --device {}` names "
                     "the commands that do it",
                     order->process, order->name, restored.error().message, order->id));
}

Result<HeldLimit> HeldLimit::take(PowerControl& control, Guard& guard) {
  RIDGE_ASSIGN(const State state, control.state());
  if (!state.limit_set_mw)
    return Error{Code::kUnavailable,
                 fmt::format("{}: its power limit is not changed, because it could not be restored: {}", control.name(),
                             state.limit_set_mw.reason)};
  const Order order{.process = getpid(), .id = control.id(), .name = control.name(), .limit_mw = *state.limit_set_mw};
  RIDGE_TRY(guard.tell(dump_json(json_of(order))));
  return HeldLimit(control, guard, order.limit_mw);
}

HeldLimit::~HeldLimit() { (void)restore(); }

Status HeldLimit::restore() {
  if (!before_mw_) return {};
  const int64_t before_mw = *before_mw_;
  before_mw_.reset();
  const Status restored = control_->set_limit(before_mw);
  guard_->release();
  if (restored) return {};
  return Error{Code::kFailed,
               fmt::format("{} is not restored (power limit {}): {}; `ridge power set --reset` names the commands that "
                           "set the vendor's defaults",
                           control_->name(), watts_text(before_mw), restored.error().message)};
}

}  // namespace ridge::power
