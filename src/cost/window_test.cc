#include "cost/window.h"

#include <gtest/gtest.h>

#include <set>

namespace ridge::cost {
namespace {

// Walks every position and tap.
void check_against_walk(const Window& w) {
  double taps = 0;
  std::set<int64_t> touched;
  for (int64_t o = 0; o < w.output; ++o)
    for (int64_t t = 0; t < w.kernel; ++t) {
      int64_t at = o * w.stride - w.pad_begin + t * w.dilation;
      if (at < 0 || at >= w.input) continue;
      ++taps;
      touched.insert(at);
    }
  EXPECT_DOUBLE_EQ(valid_taps(w), taps) << w.input << ' ' << w.kernel << ' ' << w.stride << ' ' << w.pad_begin;
  if (w.dilation == 1) {
    EXPECT_DOUBLE_EQ(touched_elements(w), static_cast<double>(touched.size()));
  } else {
    EXPECT_LE(touched_elements(w), static_cast<double>(touched.size()));
  }
}

TEST(Window, AgreesWithAWalkOverAllPositions) {
  for (int64_t input : {1, 2, 5, 8, 13})
    for (int64_t kernel : {1, 2, 3, 7})
      for (int64_t stride : {1, 2, 3, 5})
        for (int64_t dilation : {1, 2, 3})
          for (int64_t pad : {-2, 0, 1, 3})
            for (int64_t output : {1, 2, 4, 9}) check_against_walk({input, output, kernel, stride, dilation, pad});
}

TEST(Window, OfAbsurdSizeIsNotWalked) {
  EXPECT_DOUBLE_EQ(valid_taps({.input = 8, .output = 8, .kernel = int64_t{1} << 60}), 0);
  EXPECT_DOUBLE_EQ(valid_taps({.input = int64_t{1} << 62, .output = 8, .kernel = 3}), 0);
}

}  // namespace
}  // namespace ridge::cost
