// The limits behind a bound, for a terminal.
#pragma once

#include <span>
#include <string>

#include "cost/costs.h"

namespace ridge::cli {

// "int8 765 GFLOP/s measured ± 0.4 % (vnni, 81 %), fp32 178 GFLOP/s … (19 %), DRAM 25.0 GB/s measured ± 2 % (avx512
// load)": the peaks that bound the arithmetic, with their shares of its time, and memory.
std::string limits_text(std::span<const cost::BoundShare> arithmetic,
                        std::span<const cost::DeviceLimits::Source> sources);
// All of them.
std::string limits_text(std::span<const cost::DeviceLimits::Source> sources);

}  // namespace ridge::cli
