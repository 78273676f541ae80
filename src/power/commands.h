// The lines of a shell that set power limits and clocks, by each vendor's own tool, and a service that does it at every
// boot. ridge itself changes nothing: it knows the ranges and the names. Pure.
#pragma once

#include <string>
#include <vector>

#include "power/overview.h"

namespace ridge::power {

struct Wanted {
  std::optional<int64_t> limit_mw;
  std::optional<ClockRange> clocks, memory_clocks;
  bool reset = false;  // the vendor's default limit, all clocks unlocked; nothing else then
  bool cpu = false;    // of the CPU, else of the GPUs
};

struct Commands {
  std::vector<std::string> set, undone;  // a line each; `undone`: the limits that are in force now, clocks unlocked
  std::string unit;                      // text of a systemd service
};
void visit_fields(auto& visit, Is<Commands> auto& commands) {
  visit("set", commands.set, means("the lines of a shell that set it"));
  visit("undone", commands.undone, means("the lines that undo it: the limits that are in force now, clocks unlocked"));
  visit("unit", commands.unit, means("text of a systemd service"));
}

// For every device in `overview`. kInvalid: out of range; kUnsupported: no such setting; kNotFound: no device.
Result<Commands> commands_for(const Overview& overview, const Wanted& wanted);

}  // namespace ridge::power
