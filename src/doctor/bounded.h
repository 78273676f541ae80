// Work that may hang (a tool, a driver's library, a slow disk), done in a child process that is killed when its time is
// over. The caller always comes back, also when the child cannot be killed because the kernel holds it.
// Call it while the process has one thread: the child is a copy of it.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace ridge::doctor {

struct ChildRun {
  std::string output;  // what it wrote until it ended, at most 16 MiB
  bool timed_out = false;
  int exit_status = 0;  // of exit(); valid if signal is 0
  int signal = 0;       // that ended it, e.g. 11: it crashed
};

// `body` writes to the descriptor it is given; its return value is the exit status. It must not touch the parent's
// locks and never returns to the caller's code.
Result<ChildRun> run_child(Nanoseconds limit, const std::function<int(int output)>& body);

// Exit status of a body that could not do its work: its output is the reason, in words for people.
constexpr int kReasonGiven = 100;

// The same for work whose whole result is a text: an error for a crash, a time-out or a non-zero exit status.
Result<std::string> text_of_child(const std::string& what, Nanoseconds limit,
                                  const std::function<int(int output)>& body);

// A command of PATH, its output and errors together. Errors: kNotFound (not on PATH), kTimeout, kFailed (with its
// output).
Result<std::string> run_tool(const std::vector<std::string>& command, Nanoseconds limit);

// For bodies: writes all of `text`; gives a result or its error to the parent and returns the exit status.
bool write_all(int descriptor, std::string_view text);
int answer(int descriptor, const Result<std::string>& result);

}  // namespace ridge::doctor
