// ridge bench device: this machine's upper limits. The other half of the bench verb measures models (bench.cc).
#pragma once

#include <span>
#include <string>

namespace ridge::cli {

// `arguments` after "bench device". Returns an Exit.
int bench_device(std::span<const std::string> arguments);

}  // namespace ridge::cli
