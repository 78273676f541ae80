// The ledger: which claims hold on a device, with their measurements and conditions.
//
// One thread, busy while it measures.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "lab/claim.h"
#include "lab/device.h"
#include "lab/experiment.h"

namespace ridge::lab {

// One comparison and its verdict; or an untestable claim, with the reason.
struct LedgerRow {
  Claim claim;
  Verdict verdict = Verdict::kNotTestable;
  std::string explanation;  // one sentence: for a measurement the cause of the difference, else why there is none
  // Of a measurement; `experiment` is empty otherwise.
  std::string experiment, title, variant, baseline;
  Figure figure;
  Interval ratio;                                    // speed of the variant over that of the baseline, in work per time
  double variant_seconds = 0, baseline_seconds = 0;  // of one run, median
  bool of_bytes = true;                              // the work is counted in bytes, else in FLOPs
  double variant_work = 0, baseline_work = 0;        // bytes or FLOPs of one run
  std::optional<gpu::Residency> variant_residency, baseline_residency;
  int rounds = 0;
  bool converged = false;  // the interval became narrow enough
};

// A case with every measured variant, for a chart.
struct MeasuredCase {
  struct Way {
    std::string name;
    std::optional<double> at;  // value of the parameter
    double seconds = 0;        // of one run: median, over its comparisons
    double work = 0;           // bytes or FLOPs of one run
  };
  std::string experiment, title, parameter;
  bool of_bytes = true;
  std::vector<Way> ways;
};

struct LedgerOptions {
  Nanoseconds most_time = std::chrono::seconds(2);  // per comparison
  double half_width_percent = 2;
  std::function<bool()> interrupted;                                         // may be empty
  std::function<void(const std::string& step, double share_done)> progress;  // may be empty
};

struct Ledger {
  std::vector<LedgerRow> rows;
  std::vector<MeasuredCase> cases;
  bool interrupted = false;
};

// What to run: experiments by name and claims by id; empty: all.
struct Selection {
  std::vector<std::string> names;
};
// Errors: a name that is neither.
Status check_selection(const Selection& selection, std::span<const Claim> claims);

// Tests the selected claims: checks the results of every variant, measures every comparison, and gives a reason for what this
// device cannot test. A wrong result is an error.
Result<Ledger> keep_ledger(const Device& device, const Selection& selection, std::span<const Claim> claims,
                           const LedgerOptions& options, const Clock& clock = system_clock());

Json to_json(const LedgerRow& row);
// Rows, cases and the number of rows per verdict, with the device's conditions.
Json to_json(const Ledger& ledger, const Device& device);

}  // namespace ridge::lab
