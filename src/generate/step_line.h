// The time of a decoder's step as a line: fixed + per token · new tokens + per cached token · tokens that attention
// reads + per pair · further pairs of attention + per row · rows of logits, but never below the time of reading the
// weights once. Measured: it is straight beyond a few tokens; without the rows, of which a prompt has one and decodes
// have one each, a 90 M model's prefill is 8 to 11 % shorter than the line. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/fields.h"

namespace ridge::generate {

// Work of a step.
struct StepLoad {
  double tokens = 0;  // new, of all sequences
  double cached = 0;  // past tokens that attention reads, summed over the sequences
  double pairs =
      0;  // (new token, earlier token) that attention computes from what it has read: nothing for one new token
  double rows = 0;  // of logits
  void add(double new_tokens, double past, double new_rows = 1) {
    tokens += new_tokens;
    cached += past;
    pairs += (new_tokens - 1) * (past + new_tokens / 2);
    rows += new_rows;
  }
};

struct StepPoint {
  StepLoad load;
  double seconds = 0;
};

struct StepLine {
  double floor = 0;       // [s] of a step of few tokens
  double fixed = 0;       // [s]
  double per_token = 0;   // [s]
  double per_cached = 0;  // [s]
  double per_pair = 0;    // [s]
  double per_row = 0;     // [s]
  double seconds(const StepLoad& load) const;
  // Time that the load adds to `fixed`.
  double added(const StepLoad& load) const;
  // Most new tokens of one sequence that join a step that computes `load` already, so that it ends within `seconds`, or
  // takes no longer than the floor; at least 0.
  double tokens_within(double seconds, const StepLoad& load, double past) const;
  bool known() const { return per_token > 0; }
};
void visit_fields(auto& visit, Is<StepLine> auto& line) {
  visit("floor_s", line.floor);
  visit("fixed_s", line.fixed);
  visit("per_token_s", line.per_token);
  visit("per_cached_token_s", line.per_cached);
  visit("per_pair_s", line.per_pair);
  visit.optional("per_row_s", line.per_row);
}

// Least squares of relative errors; coefficients are not negative. At least four points.
StepLine fit(std::span<const StepPoint> points);

using LineTerms = std::array<double, 5>;  // fixed, per token, per cached token, per pair, per row

// Sums of a least-squares problem: matrix · coefficients = right.
struct NormalEquations {
  std::array<LineTerms, std::tuple_size_v<LineTerms>> matrix{};
  LineTerms right{};
  void add(const LineTerms& terms, double value, double weight);
  void forget(double share);
  // The coefficients of least error among plausible ones that are not negative: tries all 31 sets of terms.
  LineTerms solve() const;
};

// A line that follows what is measured: exponentially forgotten least squares of relative errors (Haykin, Adaptive
// Filter Theory, chapter on RLS). The line that it began with stays in the sums as a weak prior, so that what the steps
// do not show (only decodes for an hour) does not wander off. A disturbed step counts as little as its error is beyond
// the usual one (Huber 1964). Without a line to begin with, it fits the first steps.
class RefinedLine {
 public:
  explicit RefinedLine(StepLine first) : first_(first), line_(first) {}
  void add(const StepPoint& point);
  const StepLine& line() const { return line_; }
  // Mean of |measured / predicted − 1| of the last steps.
  double usual_error() const { return usual_error_; }

 private:
  void begin(const StepPoint& point);
  void solve();

  StepLine first_, line_;
  std::vector<StepPoint> points_;  // until the first line is known
  NormalEquations sums_;
  double usual_error_ = 0.05;
};

}  // namespace ridge::generate
