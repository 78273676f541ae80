// Figures: the measured results of one way to run a model: the few numbers that searches and advice use.
#pragma once

#include <cstdint>

#include "base/fields.h"

namespace ridge::tune {

struct Figures {
  double rows_per_s = 0;
  double p50_ms = 0, p99_ms = 0;  // of one run
  double joules_per_row = 0;      // 0 = not measured
  int64_t samples = 0;            // runs
};
// Of the time of a run.
void visit_percentiles(auto& visit, Is<Figures> auto& figures) {
  visit("p50", figures.p50_ms);
  visit("p99", figures.p99_ms);
}

}  // namespace ridge::tune
