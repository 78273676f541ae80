// Compares several things by measuring them in turn, round after round, in a new random order each round: what disturbs the
// machine for longer than a slice disturbs all of them alike and cancels in the ratios.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace ridge::measure {

struct Contender {
  std::string name;
  // Works for about `slice` and returns its rate, in a unit of the caller's choice; more is better.
  std::function<Result<double>(Nanoseconds slice)> rate;
};

struct CompareOptions {
  Nanoseconds slice = std::chrono::milliseconds(200);
  int min_rounds = 5;
  Nanoseconds max_time = std::chrono::seconds(20);
  double half_width_percent = 2;  // of each ratio
  double confidence = 0.95;
  uint64_t seed = 1;
  std::function<bool()> interrupted;  // may be empty
};

struct Standing {
  std::string name;
  double rate = 0;       // median over the rounds
  double ratio = 1;      // to the first contender: geometric mean over the rounds
  double ratio_low = 1;  // confidence interval of the ratio (Student's t on the logarithms)
  double ratio_high = 1;
};

struct Comparison {
  std::vector<Standing> standings;  // in the order given
  int rounds = 0;
  bool converged = false;  // all intervals narrow enough before the time was up
};

// At least one contender, at least one round. The first error ends the comparison, prefixed by the contender's name.
Result<Comparison> compare(const std::vector<Contender>& contenders, const CompareOptions& options);

// The part that decides: standings from the rates of each round, rates[round][contender].
Comparison standings_of(const std::vector<Contender>& contenders, const std::vector<std::vector<double>>& rates,
                        double confidence);

}  // namespace ridge::measure
