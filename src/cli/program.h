// What every program of ridge does around its work: arguments, signals, the log's level, and output that could not be
// written.
#pragma once

#include <span>
#include <string>

namespace ridge::cli {

// Calls `run` with the arguments behind the program's name. Returns its exit status, or a failure.
int run_program(int argc, char** argv, int (*run)(std::span<const std::string> arguments));

// RIDGE_LOG = debug, info, warning, error or off.
void set_log_level_from_environment();

}  // namespace ridge::cli
