// Regression: a stored tuning result compared with a new measurement of the same candidate, metric by metric.
//
// Speed is judged beside the untuned model, which ran interleaved with the candidate, then and now: a slower machine or
// engine slows both. Each figure is two measured distributions, of ln(candidate / untuned) in every round then and in
// every round now; it has regressed if the difference of their means (Welch's test) is beyond the tolerance with
// kConfidence. Absolute figures are judged only if requested, and only on the machine where they were recorded. False
// alarms: below 1 % per comparison, as regression_test.cc simulates. Pure.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/fields.h"
#include "base/figure.h"
#include "measure/statistics.h"
#include "tune/tuning.h"

namespace ridge::tune {

enum class Change { kAsBefore, kBetter, kRegressed, kNotComparable };
NameTable<Change> names_of(Change);  // "as before", …

struct FigureChange {
  std::string id;
  std::string what;  // "gain over the untuned model"
  std::string unit;  // "", "rows/s", "ms", "B"
  double before = 0, now = 0;
  double change_percent = 0;  // of the figure
  std::optional<double> beside_untuned_percent;
  double spread_percent = 0;  // half-width of the interval of kConfidence
  Change verdict = Change::kAsBefore;
  std::string reason;  // of kNotComparable
};
void visit_fields(auto& visit, Is<FigureChange> auto& row) {
  visit("id", row.id, means("`gain`, `throughput`, `untuned-throughput`, `p99`, `memory`, `relative-l2`"));
  visit("what", row.what);
  visit("unit", row.unit);
  visit("before", row.before);
  visit("now", row.now);
  visit("change_percent", row.change_percent);
  visit.unless_empty("beside_untuned_percent", row.beside_untuned_percent,
                     means("change of its ratio to the untuned model's, where that was judged"));
  visit("spread_percent", row.spread_percent, means("of the judged change; 0: not known"));
  visit("verdict", row.verdict);
  visit("reason", row.reason, means("why it is not comparable"));
}

// A value of the row, with its unit; "-": not known.
std::string value_text(const FigureChange& row, double value);
// Ends of the interval of the judged change [%], above -100: the spread is one of logarithms. Absent: not known.
std::optional<std::pair<double, double>> change_ends(const FigureChange& row);
// "± 1.2 %"; "-31 % to +89 %" where the interval is wide, or the change large; "": not known.
std::string spread_text(const FigureChange& row);

// A figure then and now, not judged yet.
FigureChange figure_of(std::string id, std::string what, std::string unit, double before, double now);
// Beyond the tolerance with the interval's confidence; set aside without one. `difference`: of the logarithms.
void judge(const measure::MeanDifference& difference, Better better, double tolerance_percent, FigureChange& row);
FigureChange set_aside(FigureChange row, const std::string& reason);
// Reason of a speed that was worse while other work took CPUs, then or now: settings lose by it unlike each other (two
// threads more than one), so beside the untuned model as well.
inline constexpr const char* kBusy = "worse on a busy machine";

// Confidence of each interval. One side of it is left with 0.25 %, and there are three or four figures.
constexpr double kConfidence = 0.995;

struct Strictness {
  double tolerance_percent = 5;  // accepted changes for the worse
  bool absolute = false;         // throughput and p99 are judged by themselves, not beside the untuned model
};
std::vector<FigureChange> compare(const Tuning& before, const Tuning& now, const Strictness& strictness);
bool regressed(const std::vector<FigureChange>& all);
// Why a comparison without a regression gives no answer: a figure is not judged for kBusy, or no speed has an interval
// in which a loss of half of it would show. Empty: it is one.
std::string unjudged_reason(const std::vector<FigureChange>& all);
// The least loss that would have been called a regression, of the widest interval's figure [%]; absent: none.
std::optional<double> least_visible_percent(const std::vector<FigureChange>& all, const Strictness& strictness);
// Plain sentences.
std::string conclusion(const std::vector<FigureChange>& all, const Strictness& strictness);

}  // namespace ridge::tune
