// ridge bench URL: load on a served model. bench.cc measures model files, bench_device.cc the machine.
#pragma once

#include <span>
#include <string>

namespace ridge::cli {

// True if `arguments` after "bench" name a server.
bool names_server(std::span<const std::string> arguments);
// Returns an Exit.
int bench_server(std::span<const std::string> arguments);

}  // namespace ridge::cli
