// The ledger: which claims hold on a device, with what was measured and under which conditions.
//
// One thread, which is busy while it measures.
#pragma once

#include <functional>
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

// One comparison and its verdict; or a claim that could not be put to the test, with the reason.
struct LedgerRow {
  Claim claim;
  Verdict verdict = Verdict::kNotTestable;
  std::string explanation;  // one sentence: of a measurement what should make the difference, else why there is none
  // Of a measurement; `experiment` is empty otherwise.
  std::string experiment, title, variant, baseline;
  Figure figure;
  Interval ratio;                                    // speed of the variant over that of the baseline
  double variant_seconds = 0, baseline_seconds = 0;  // of one run, median
  double bytes = 0, flops = 0;                       // of one run; 0: not what counts here
  int rounds = 0;
  bool converged = false;  // the interval became as narrow as asked for
};

struct LedgerOptions {
  Nanoseconds most_time = std::chrono::seconds(2);  // per comparison
  double half_width_percent = 2;
  std::function<bool()> interrupted;                                         // may be empty
  std::function<void(const std::string& step, double share_done)> progress;  // may be empty
};

struct Ledger {
  std::vector<LedgerRow> rows;
  bool interrupted = false;
};

// What is wanted: experiments by name and claims by id; empty: all.
struct Wanted {
  std::vector<std::string> names;
};
// Errors: a name that is neither.
Status check_wanted(const Wanted& wanted, std::span<const Claim> claims);

// Puts the wanted claims to the test: checks the numbers of every variant, measures every comparison, and gives a reason
// for what cannot be tested on this device. A variant that computes something wrong is an error.
Result<Ledger> keep_ledger(Device& device, const Wanted& wanted, std::span<const Claim> claims,
                           const LedgerOptions& options);

Json to_json(const LedgerRow& row);

}  // namespace ridge::lab
