// Learns which part of the tokens that they may take answers have taken so far; predicts the blocks of running
// sequences. Pure; one thread.
#pragma once

#include <cstdint>

namespace ridge::generate {

// The number that a standard normal variable exceeds with this probability, 0 < probability < 1.
double normal_quantile_above(double probability);

class AnswerLengths {
 public:
  struct Expected {
    double tokens = 0;
    double variance = 0;
  };
  // An answer ended after `tokens` of at most `most`.
  void add(int64_t tokens, int64_t most);
  // Expectation for an answer that has `tokens` now. While few have ended: all that it may take.
  Expected expected(int64_t tokens, int64_t most) const;

 private:
  int64_t count_ = 0;
  double mean_ = 1, square_ = 1;  // of the share, the last hundred or so weigh most
};

}  // namespace ridge::generate
