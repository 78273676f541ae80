// Runs work that may hang, crash or take too much memory in a child process: a program in PATH, or a function of this
// one. At a limit the child and everything it started are killed, and the call always returns, even if the kernel
// cannot release the child.
// For a call that must stay in this process see base/bounded_thread.h.
//
// Thread-safe, but run_function() copies this process, so call it while there is one thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace ridge {

struct ChildLimits {
  Nanoseconds time{};
  uint64_t memory_bytes = 0;            // resident, checked every 20 ms; 0: no limit
  std::function<bool()> interrupted{};  // polled; true ends the child; may be empty
};

enum class ChildEnd { kExited, kSignal, kTimeout, kMemory, kInterrupted };

struct ChildRun {
  std::string output;  // the end of its output, at most 16 MiB
  ChildEnd end = ChildEnd::kExited;
  int exit_status = 0;  // with kExited
  int signal = 0;       // with kSignal, e.g. 11: it crashed
  // Highest resident memory of the child itself. Exact above this process's own peak; else the highest value seen at
  // the checks, which may miss the last 20 ms. A function's memory includes the pages that it shares with this process.
  uint64_t peak_memory_bytes = 0;
};

struct ChildProgram {
  std::vector<std::string> arguments{};    // the program first; looked up in PATH, started without a shell
  std::vector<std::string> environment{};  // "NAME=value", added to this process's own and overriding it
  bool take_errors = false;                // standard error joins the output; else it is this process's own
  bool output_to_errors = false;  // standard output goes to this process's standard error; `output` stays empty
};

// Standard input is empty; standard output is taken. Errors: kNotFound, or the system call that failed. A program that
// ran is a value, however it ended.
Result<ChildRun> run_program(const ChildProgram& program, const ChildLimits& limits);

// `body` writes to the given descriptor and returns the exit status. Its standard output is dropped.
Result<ChildRun> run_function(const ChildLimits& limits, const std::function<int(int output)>& body);

// The whole output of a run that exited with 0, else an error with `what`, its end and its last line.
Result<std::string> output_of(const std::string& what, const ChildLimits& limits, Result<ChildRun> run);

// Both steps in one: a program's output, and a function's result returned from its child.
Result<std::string> output_of_program(const ChildProgram& program, const ChildLimits& limits);
Result<std::string> result_of_function(const std::string& what, const ChildLimits& limits,
                                       const std::function<Result<std::string>()>& work);

// For bodies: writes all of `text`.
bool write_all(int descriptor, std::string_view text);

// Starts a program in the foreground, without limits; the caller waits for it.
Result<pid_t> start_program(const std::vector<std::string>& arguments);

// The basis of run_function(), for an unbounded child: a copy of this process in a session of its own, with standard
// input and output at /dev/null, that exits with the value `body` returns.
struct ForkOptions {
  bool in_foreground = false;    // instead: keeps this process's session, input, output and ignored signals
  bool ends_with_parent = true;  // killed when the thread that called fork_child() ends
  bool ignores_signals = false;  // those with which a terminal or a service manager ends its processes
};
Result<pid_t> fork_child(const ForkOptions& options, const std::function<int()>& body);

}  // namespace ridge
