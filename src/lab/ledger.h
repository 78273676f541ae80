// The ledger: which claims hold on a device, with their measurements and conditions.
//
// One thread, busy while it measures.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/fields.h"
#include "base/figure.h"
#include "base/json.h"
#include "base/result.h"
#include "lab/device.h"
#include "lab/experiment.h"
#include "machine/disturbance.h"
#include "measure/claim.h"

namespace ridge::lab {

// The speed of one run; the rate is in the unit in which the work is counted.
struct Speed {
  double seconds = 0;  // median
  std::optional<double> bytes_per_s, flops_per_s;
  std::optional<int> registers = {};  // absent, as the next: not reported, or not asked
  std::optional<double> occupancy_percent = {};
};
void visit_speed(auto& visit, const std::string& whose, auto& speed) {
  visit((whose + "seconds").c_str(), speed.seconds, means("of one run, median"));
  visit((whose + "bytes_per_s").c_str(), speed.bytes_per_s, means("null: the work is counted in FLOPs"));
  visit((whose + "flops_per_s").c_str(), speed.flops_per_s, means("null: the work is counted in bytes"));
}
void visit_residency(auto& visit, const std::string& whose, auto& speed) {
  visit.unless_empty((whose + "registers").c_str(), speed.registers, means("per thread; of a GPU that reports them"));
  visit.unless_empty((whose + "occupancy_percent").c_str(), speed.occupancy_percent);
}

// One comparison and its verdict; or a claim that was not, or not wholly, tested in time, with the reason.
struct LedgerRow {
  measure::Claim claim;
  measure::Judgement verdict = measure::Judgement::kNotTestable;
  std::string explanation;  // one sentence: for a measurement the cause of the difference, else why there is none
  // Names of a measurement; `experiment` is empty otherwise.
  std::string experiment, title, variant, baseline;
  measure::ClaimedFigure figure;
  measure::Ratio ratio{
      1, 0,
      std::numeric_limits<double>::infinity()};  // speed of the variant over that of the baseline, in work per time
  Speed variant_speed, baseline_speed;
  int rounds = 0;
  bool converged = false;  // the interval became narrow enough
};
void visit_fields(auto& visit, Is<LedgerRow> auto& row) {
  visit("claim", row.claim.id);
  visit("statement", row.claim.statement);
  visit("source", row.claim.source);
  visit("verdict", row.verdict);
  visit("explanation", row.explanation, means("the cause of the difference, or why there is no measurement"));
  visit.unless_empty("experiment", row.experiment, means("and what follows: where it was measured"));
  visit.when(!row.experiment.empty(), [&](auto& then) {
    then("work", row.title);
    then("variant", row.variant);
    then("baseline", row.baseline);
    then.object("claimed", [&](auto& claimed) {
      claimed("kind", row.figure.kind, means("of a ratio of speeds, of times, or a share of the limit"));
      visit_fields(claimed, row.figure);
    });
    then.object("ratio", [&](auto& ratio) {
      ratio("value", row.ratio.value, means("speed of the variant over that of the baseline, in work per time"));
      ratio("low", row.ratio.low);
      ratio.optional("high", row.ratio.high, means("null: no bound").or_null());
      ratio.derived("confidence", 0.95);
    });
    then.derived("effect",
                 Derived{effect_of(row.figure, row.ratio), means("in the claim's terms: of a cost 1 / ratio")});
    visit_speed(then, "variant_", row.variant_speed);
    visit_speed(then, "baseline_", row.baseline_speed);
    visit_residency(then, "variant_", row.variant_speed);
    visit_residency(then, "baseline_", row.baseline_speed);
    then.derived("origin", Origin::kMeasured);
    then("rounds", row.rounds);
    then("converged", row.converged, means("the interval became narrow enough"));
  });
}

// A case with every measured variant, for a chart.
struct MeasuredCase {
  struct Way {
    std::string name;
    std::optional<double> at;  // value of the parameter
    Speed speed;               // of its comparisons; of one slice where it is in none
  };
  std::string experiment, title, parameter;
  std::vector<Way> ways;
};
void visit_fields(auto& visit, Is<MeasuredCase::Way> auto& way) {
  visit("name", way.name);
  visit("at", way.at, means("value of the parameter"));
  visit_speed(visit, "", way.speed);
}
void visit_fields(auto& visit, Is<MeasuredCase> auto& one) {
  visit("experiment", one.experiment);
  visit("work", one.title);
  visit("parameter", one.parameter, means("what varies between the variants; may be empty"));
  visit.derived("origin", Origin::kMeasured);
  visit("variants", one.ways, means("every measured one, also those that no comparison has (from one slice)"));
}

struct LedgerOptions {
  Nanoseconds time =
      Nanoseconds::max();  // of measuring: what filling, building and checking cases takes does not count
  double half_width_percent = 2;
  std::function<bool()> interrupted;                                         // may be empty
  std::function<void(const std::string& step, double share_done)> progress;  // may be empty
};

struct Ledger {
  std::string device, note;  // the device's name and software for people; what explains results, may be empty
  std::function<Json()> conditions = {};  // of Device
  std::vector<LedgerRow> rows;
  std::vector<MeasuredCase> cases;
  bool interrupted = false;
  machine::Disturbance disturbance = {};  // while it was measured
};
// Number of rows per verdict.
std::vector<std::pair<std::string, int>> verdicts_of(const Ledger& ledger);
void visit_fields(auto& visit, Is<Ledger> auto& ledger) {
  visit("device", ledger.device, means("its name and software, for people"));
  visit("note", ledger.note, means("what explains results; may be empty"));
  visit.derived("conditions", ledger.conditions);
  visit("interrupted", ledger.interrupted);
  visit("disturbance", ledger.disturbance);
  visit.derived("verdicts", Derived{verdicts_of(ledger), means("number of rows per verdict")});
  visit("ledger", ledger.rows, means("comparisons, and claims that were not tested; a claim may have several rows"));
  visit("cases", ledger.cases);
}

// Experiments by name and claims by id; empty: all.
struct Selection {
  std::vector<std::string> names;
};
// Errors: a name that is neither.
Status check_selection(const Selection& selection, std::span<const measure::Claim> claims);
// The claims that it names, itself or by their experiment.
std::vector<measure::Claim> selected(const Selection& selection, std::span<const measure::Claim> claims);

// Tests the selected claims: checks the results of every variant, measures every comparison, times for one slice each
// variant that no comparison of its case has, and gives a reason for what this device cannot test. The time is divided
// evenly among the experiments; what one leaves is the next ones'; the rest is kNotMeasured. A wrong result is an
// error.
Result<Ledger> build_ledger(const Device& device, const Selection& selection, std::span<const measure::Claim> claims,
                            const LedgerOptions& options, const Clock& clock = system_clock());

}  // namespace ridge::lab
