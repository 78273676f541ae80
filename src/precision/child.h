// A command as a child process: started without a shell, its standard output taken, never waited for longer than allowed.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace ridge::precision {

struct ChildOptions {
  std::vector<std::string> arguments;    // the command first; looked up in PATH
  std::vector<std::string> environment;  // "NAME=value", besides this process's own, and before it
  Nanoseconds limit{};                   // then the child and its process group are killed
  std::function<bool()> interrupted;     // polled; they are killed then, too; may be empty
};

// The end of what the command wrote, at most 64 KiB, when it has exited with 0. Standard input is empty, standard error this
// process's own. Errors: kNotFound; kFailed with the exit status or signal; kTimeout; kCancelled.
Result<std::string> output_of(const ChildOptions& options);

}  // namespace ridge::precision
