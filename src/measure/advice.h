// One sentence on what would make a measured model faster. Pure.
#pragma once

#include <string>

#include "cost/costs.h"
#include "measure/measurement.h"

namespace ridge::measure {

struct Advice {
  std::string
      id;  // limit-unknown, memory-limit, compute-limit, small-model, larger-batch, other-threads. Stable: docs/formats.md
  std::string sentence;
};

// `limits` may be null: then the limit is not known and the sentence says so.
Advice advise(const Measurement& measurement, const cost::DeviceLimits* limits);

}  // namespace ridge::measure
