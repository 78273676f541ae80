// Batching from evidence: the gain of merging requests into one run, and the resulting server settings, from the
// measured time of a run over its rows.
//
// A run of b rows is assumed to take fixed + per_row · b. Merging two runs saves one `fixed`: a request may wait at
// most that long for others, or the wait costs more than it saves. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/figure.h"
#include "measure/interval.h"
#include "tune/figures.h"
#include "tune/space.h"

namespace ridge::tune {

// A run of the chosen layout at one batch, all its instances busy.
struct BatchPoint {
  int64_t batch = 1;
  Figures figures;
  measure::Interval rows_per_s_ci95 = {};
};
void visit_fields(auto& visit, Is<BatchPoint> auto& point) {
  visit("batch", point.batch);
  visit_latency(visit, point.figures);
  visit("throughput_per_s", point.figures.rows_per_s, means("rows"));
  visit.optional("throughput_ci95_per_s", point.rows_per_s_ci95);
}

struct BatchingAdvice {
  bool helps = false;              // requests should be merged
  int64_t max_batch = 1;           // most rows of a run
  std::vector<int64_t> preferred;  // rising; empty unless it helps
  double queue_delay_ms = 0;       // longest wait for other requests
  double gain = 1;                 // rows/s of the chosen batch ÷ of batch 1
  measure::Interval gain_ci95 = {};
  double fixed_ms = 0, per_row_ms = 0;
  std::string id = {};      // stable: "merge", "no-gain", "scatter", "no-curve", "no-batch-1"
  std::string reason = {};  // one sentence
};
void visit_fields(auto& visit, Is<BatchingAdvice> auto& advice) {
  visit("helps", advice.helps, means("requests should be merged"));
  visit("max_batch", advice.max_batch, means("most rows of a run"));
  visit("preferred", advice.preferred);
  visit("queue_delay_ms", advice.queue_delay_ms, means("longest wait for other requests"));
  visit("gain", advice.gain, means("rows per second, over batch 1"));
  visit("gain_ci95", advice.gain_ci95);
  visit("fixed_ms", advice.fixed_ms, means("of a run, whatever its rows"));
  visit("per_row_ms", advice.per_row_ms);
  visit("id", advice.id, means("`merge`, `no-gain`, `scatter`, `no-curve`, `no-batch-1`"));
  visit("reason", advice.reason);
}

// `points` by rising batch, batch 1 and `chosen` (the tuned one) among them; those above a p99 goal included.
BatchingAdvice advise_batching(std::span<const BatchPoint> points, int64_t chosen, std::optional<double> p99_goal_ms);

// Before any measurement: the highest gain of merging by the limits alone, for the layout with the highest one. Absent
// where limits are not known or there is only one batch.
struct BatchingOutlook {
  double limit_gain = 1;  // the limit's rows/s at the best batch ÷ at batch 1
  std::string sentence;
};
void visit_fields(auto& visit, Is<BatchingOutlook> auto& outlook) {
  visit("limit_gain", outlook.limit_gain,
        means("by the limits alone: rows per second at the best batch, over batch 1"));
  visit("sentence", outlook.sentence);
}
std::optional<BatchingOutlook> batching_outlook(std::span<const PricedCandidate> entries);

}  // namespace ridge::tune
