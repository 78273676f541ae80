// The time of a decoder's step as a line: fixed + per token · new tokens + per cached token · tokens that attention reads, but never below the time of
// reading the weights once. Measured: it is straight beyond a few tokens. Pure.
#pragma once

#include <cstdint>
#include <span>

#include "base/fields.h"

namespace ridge::generate {

struct StepPoint {
  double tokens = 0;   // new, of all sequences
  double cached = 0;   // past tokens that attention reads, summed over the sequences
  double seconds = 0;
};

struct StepLine {
  double floor = 0;       // [s] of a step of few tokens
  double fixed = 0;       // [s]
  double per_token = 0;   // [s]
  double per_cached = 0;  // [s]
  double seconds(double tokens, double cached) const;
  // Most new tokens of a step that ends within `seconds`; at least 1.
  double tokens_within(double seconds, double cached) const;
  bool known() const { return per_token > 0; }
};
void visit_fields(auto& visit, Is<StepLine> auto& line) {
  visit("floor_s", line.floor);
  visit("fixed_s", line.fixed);
  visit("per_token_s", line.per_token);
  visit("per_cached_token_s", line.per_cached);
}

// Least squares of relative errors; coefficients are not negative. At least four points.
StepLine fit(std::span<const StepPoint> points);

}  // namespace ridge::generate
