// Figures: the measured results of one way to run a model: the few numbers that searches and advice use.
#pragma once

#include <cstdint>

#include "base/fields.h"
#include "measure/interval.h"

namespace ridge::tune {

struct Figures {
  double rows_per_s = 0;
  double p50_ms = 0, p99_ms = 0;  // of one run
  double joules_per_row = 0;      // 0 = not measured
  int64_t samples = 0;            // runs
  measure::Interval p50_ci95_ms = {}, p99_ci95_ms = {};
};
// Members latency_ms and latency_ci95_ms: of the time of a run.
void visit_latency(auto& visit, Is<Figures> auto& figures) {
  visit.object("latency_ms", [&](auto& latency) {
    latency("p50", figures.p50_ms);
    latency("p99", figures.p99_ms);
  });
  visit.object("latency_ci95_ms", [&](auto& intervals) {
    intervals.optional("p50", figures.p50_ci95_ms);
    intervals.optional("p99", figures.p99_ci95_ms);
  });
}

// Takes in the figures of another measurement of the same; `newer`: its weight, 0 … 1.
void merge(Figures& all, const Figures& more, double newer);
// Scales to a machine, or to company, that makes runs slower by these factors.
void scale_times(Figures& figures, double p50_factor, double p99_factor);

}  // namespace ridge::tune
