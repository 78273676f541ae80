#include "generate/answer_lengths.h"

#include <algorithm>
#include <cmath>

namespace ridge::generate {

double normal_quantile_above(double probability) {
  double low = -40, high = 40;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (std::erfc(middle / std::sqrt(2.0)) / 2 > probability ? low : high) = middle;
  }
  return (low + high) / 2;
}

void AnswerLengths::add(int64_t tokens, int64_t most) {
  if (most <= 0) return;
  const double share = static_cast<double>(tokens) / static_cast<double>(most);
  const double weight = 1 / std::min<double>(static_cast<double>(++count_), 100);
  mean_ += weight * (share - mean_);
  square_ += weight * (share * share - square_);
}

AnswerLengths::Expected AnswerLengths::expected(int64_t tokens, int64_t most) const {
  constexpr int64_t kEnough = 32;
  const auto all = static_cast<double>(most), now = static_cast<double>(tokens);
  if (count_ < kEnough) return {all, 0};
  if (now < mean_ * all) return {mean_ * all, std::max(0.0, square_ - mean_ * mean_) * all * all};
  // Longer than most: anything from here to the end is as likely (an assumption).
  return {(now + all) / 2, (all - now) * (all - now) / 12};
}

}  // namespace ridge::generate
