// The interleaved benchmark: several arms measured alternately, round after round, so that a disturbance longer than a
// slice affects all of them alike and cancels in their ratios.
//
// A round is one slice of every arm, in a random order, and the next round is its reverse (A B B A), so that a steady
// change cancels over the two. One thread; arms may start their own.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/fields.h"
#include "base/figure.h"
#include "base/result.h"
#include "measure/stop_rule.h"

namespace ridge::measure {

// The result of one slice.
struct Slice {
  double rate = 0;      // per second, in a unit of the arm's choice; above 0
  double p50_ms = 0;    // of a run; 0 = the arm does not say
  double energy_j = 0;  // per unit; 0 = not measured
  double p99_ms = 0;    // as p50_ms
};

struct Arm {
  std::string name;
  // Works for about a slice. One Slice; one each for co-located models. kCancelled ends it like an interruption.
  std::function<Result<std::vector<Slice>>()> run;
};

using Round = std::vector<std::vector<Slice>>;  // [arm][model]

struct InterleaveOptions {
  // Its samples are rounds; its interval is the widest of the arms' ratios to the first arm's rate.
  StopOptions stop{.min_samples = 5, .min_time = Nanoseconds(0)};
  uint64_t seed = 1;                  // of the orders
  std::function<bool()> interrupted;  // polled after each round; may be empty
};

struct InterleavedResult {
  std::vector<Round> rounds;             // whole ones
  Verdict verdict = Verdict::kContinue;  // kContinue: it was interrupted, or an arm failed
  bool interrupted = false;
  std::optional<size_t> failed_arm = {};  // and why:
  Error failure = {};
};
InterleavedResult interleave(std::span<const Arm> arms, const InterleaveOptions& options, const Clock& clock);

// ln(of the arm ÷ of the reference) in each round, of the rate or of another member; rounds where it is 0 are left out.
std::vector<double> log_ratios(std::span<const Round> rounds, size_t arm, size_t reference = 0, size_t model = 0,
                               double Slice::*member = &Slice::rate);

// A geometric mean with its confidence interval (Student's t on the logarithms).
struct Ratio {
  double value = 1, low = 1, high = 1;
};
void visit_fields(auto& visit, Is<Ratio> auto& ratio) {
  visit("value", ratio.value);
  visit("low", ratio.low, Figure().or_null());
  visit("high", ratio.high, Figure().or_null());
}
Ratio ratio_of(std::span<const double> log_ratios, double confidence);

struct ArmResult {
  std::string name;
  double rate = 0;  // median over the rounds
  Ratio ratio;      // to the first arm
};

struct Comparison {
  std::vector<ArmResult> arm_results;  // in the order of the arms
  int rounds = 0;
  bool converged = false;  // all intervals narrow enough before the time was up
};
Comparison comparison_of(std::span<const Arm> arms, std::span<const Round> rounds, double confidence);

// interleave() and its comparison. Errors: an arm's, prefixed by its name; kCancelled before the first round was whole.
Result<Comparison> compare(std::span<const Arm> arms, const InterleaveOptions& options, const Clock& clock);

}  // namespace ridge::measure
