// The ledger: which claims hold on a device, with their measurements and conditions.
//
// One thread, busy while it measures.
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/fields.h"
#include "base/result.h"
#include "lab/device.h"
#include "lab/experiment.h"
#include "machine/disturbance.h"
#include "measure/claim.h"

namespace ridge::lab {

// Both units are there; the one in which the work is not counted is null.
void visit_rates(auto& visit, const std::string& whose, bool of_bytes, double per_s) {
  visit.derived((whose + "bytes_per_s").c_str(), of_bytes ? std::optional(per_s) : std::nullopt);
  visit.derived((whose + "flops_per_s").c_str(), of_bytes ? std::nullopt : std::optional(per_s));
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
      std::numeric_limits<double>::infinity()};      // speed of the variant over that of the baseline, in work per time
  double variant_seconds = 0, baseline_seconds = 0;  // of one run, median
  bool of_bytes = true;                              // the work is counted in bytes, else in FLOPs
  double variant_work = 0, baseline_work = 0;        // bytes or FLOPs of one run
  std::optional<gpu::Residency> variant_residency, baseline_residency;
  int rounds = 0;
  bool converged = false;  // the interval became narrow enough
};
void visit_fields(auto& visit, Is<LedgerRow> auto& row) {
  const auto residency = [&](const std::string& whose, auto& of_one) {
    if (!of_one) return;
    visit((whose + "registers").c_str(), of_one->registers);
    visit((whose + "occupancy_percent").c_str(), of_one->occupancy_percent);
  };
  visit("claim", row.claim.id);
  visit("statement", row.claim.statement);
  visit("source", row.claim.source);
  visit("verdict", row.verdict);
  visit("explanation", row.explanation);
  visit.unless_empty("experiment", row.experiment);
  if (row.experiment.empty()) return;
  visit("work", row.title);
  visit("variant", row.variant);
  visit("baseline", row.baseline);
  visit.object("claimed", [&](auto& claimed) {
    claimed("kind", row.figure.kind);
    visit_fields(claimed, row.figure);
  });
  visit.object("ratio", [&](auto& ratio) {
    ratio("value", row.ratio.value);
    ratio("low", row.ratio.low);
    ratio.optional("high", row.ratio.high);  // null: no bound
    ratio.derived("confidence", 0.95);
  });
  visit.derived("effect", effect_of(row.figure, row.ratio));  // what the claim speaks of
  visit("variant_seconds", row.variant_seconds);
  visit("baseline_seconds", row.baseline_seconds);
  visit_rates(visit, "variant_", row.of_bytes, row.variant_work / row.variant_seconds);
  visit_rates(visit, "baseline_", row.of_bytes, row.baseline_work / row.baseline_seconds);
  residency("variant_", row.variant_residency);
  residency("baseline_", row.baseline_residency);
  visit.derived("origin", Origin::kMeasured);
  visit("rounds", row.rounds);
  visit("converged", row.converged);
}

// A case with every measured variant, for a chart.
struct MeasuredCase {
  struct Way {
    std::string name;
    std::optional<double> at;  // value of the parameter
    double seconds = 0;        // of one run: median, over its comparisons; of one slice where it is in none
    double work = 0;           // bytes or FLOPs of one run
  };
  std::string experiment, title, parameter;
  bool of_bytes = true;
  std::vector<Way> ways;
};

struct LedgerOptions {
  Nanoseconds time =
      Nanoseconds::max();  // of measuring: what filling, building and checking cases takes does not count
  double half_width_percent = 2;
  std::function<bool()> interrupted;                                         // may be empty
  std::function<void(const std::string& step, double share_done)> progress;  // may be empty
};

struct Ledger {
  std::string device, note;  // the device's name and software for people; what explains results, may be empty
  std::vector<LedgerRow> rows;
  std::vector<MeasuredCase> cases;
  bool interrupted = false;
  machine::Disturbance disturbance = {};  // while it was measured
};

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

// Reads the output of to_json(), without the cases.
Result<Ledger> ledger_from_json(const Json& json);
// Rows, cases and how many rows have which verdict, with the device's conditions.
Json to_json(const Ledger& ledger, const Device& device);

}  // namespace ridge::lab
