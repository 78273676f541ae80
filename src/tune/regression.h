// Regression: a stored tuning result compared with a new measurement of the same candidate, metric by metric, for use in CI.
//
// The gain over the untuned model counts first: both sides were interleaved, so a slower machine does not change it. Absolute
// figures are compared only on the machine where they were recorded, and, unless requested, only while the untuned model is as
// fast as then: if it is slower too, the machine is busier or the engine slower, and the tuning is not the cause. A figure has
// regressed if its change for the worse is beyond the tolerance with confidence, that is, beyond the spread of both
// measurements. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "tune/candidate.h"
#include "tune/search.h"

namespace ridge::tune {

// The result in a tuning.json (the `tune` contract).
struct TuningRecord {
  std::string machine;  // machine::Machine::id
  std::string engine;   // name and version
  std::string device = "cpu";
  std::string base_engine;  // name of the untuned model's
  Candidate candidate;
  Objective objective = Objective::kThroughput;
  std::string shapes;     // of the inputs at batch 1: "input[1,3,224,224] mask[1,128]"; empty in older records
  Gain gain;              // of the objective, over the untuned model
  double rows_per_s = 0;  // of the candidate
  double untuned_rows_per_s = 0;
  double p99_ms = 0;
  double ci95_percent = 0;     // of the candidate's mean latency
  double rss_delta_bytes = 0;  // 0 = not recorded
  double relative_l2 = 0;      // deviation of the outputs
};
Result<TuningRecord> recorded_from_json(const Json& tuning);

enum class Change { kAsBefore, kBetter, kRegressed, kNotComparable };
NameTable<Change> names_of(Change);  // "as before", …

struct FigureChange {
  std::string id;    // "gain", "throughput", "untuned-throughput", "p99", "memory", "relative-l2"
  std::string what;  // "gain over the untuned model"
  std::string unit;  // "", "rows/s", "ms", "B"
  double before = 0, now = 0;
  double change_percent = 0;  // of the figure
  double spread_percent = 0;  // of the change: half-width of its 95 % interval; 0 = not known
  Change verdict = Change::kAsBefore;
  std::string reason;  // of kNotComparable
};
void visit_fields(auto& visit, Is<FigureChange> auto& row) {
  visit("id", row.id);
  visit("what", row.what);
  visit("unit", row.unit);
  visit("before", row.before);
  visit("now", row.now);
  visit("change_percent", row.change_percent);
  visit("spread_percent", row.spread_percent);
  visit("verdict", row.verdict);
  visit("reason", row.reason);
}

struct Strictness {
  double tolerance_percent = 5;  // accepted changes for the worse
  bool absolute = false;         // absolute figures count even if the untuned model changed
};
std::vector<FigureChange> compare(const TuningRecord& before, const TuningRecord& now, const Strictness& strictness);
bool regressed(const std::vector<FigureChange>& all);
// One plain sentence.
std::string conclusion(const std::vector<FigureChange>& all, const Strictness& strictness);

}  // namespace ridge::tune
