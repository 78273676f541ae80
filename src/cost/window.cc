#include "cost/window.h"

#include <algorithm>

namespace ridge::cost {
namespace {

// Larger kernels are not walked tap by tap: no real model has one, a hostile file may.
constexpr int64_t kMostTaps = 1 << 20;

int64_t divide_down(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }
int64_t divide_up(int64_t a, int64_t b) { return -divide_down(-a, b); }

bool is_sane(const Window& w) {
  constexpr int64_t kMost = int64_t{1} << 40;  // products below stay inside int64
  auto fits = [](int64_t value, int64_t most) { return value >= 1 && value <= most; };
  return fits(w.input, kMost) && fits(w.output, kMost) && fits(w.kernel, kMostTaps) && fits(w.stride, kMostTaps) &&
         fits(w.dilation, kMostTaps) && w.pad_begin >= -kMost && w.pad_begin <= kMost;
}

// Output positions o whose tap t falls on an element: 0 ≤ o·stride − pad + t·dilation < input.
int64_t positions(const Window& w, int64_t tap) {
  int64_t offset = tap * w.dilation - w.pad_begin;
  int64_t first = std::max<int64_t>(0, divide_up(-offset, w.stride));
  int64_t last = std::min(w.output - 1, divide_down(w.input - 1 - offset, w.stride));
  return std::max<int64_t>(0, last - first + 1);
}

}  // namespace

double valid_taps(const Window& w) {
  if (!is_sane(w)) return 0;
  double sum = 0;
  for (int64_t tap = 0; tap < w.kernel; ++tap) sum += static_cast<double>(positions(w, tap));
  return sum;
}

double touched_elements(const Window& w) {
  if (!is_sane(w)) return 0;
  bool contiguous = w.dilation == 1 && w.kernel >= w.stride;
  if (contiguous) {
    int64_t first = std::clamp<int64_t>(-w.pad_begin, 0, w.input);
    int64_t last = std::clamp<int64_t>((w.output - 1) * w.stride - w.pad_begin + w.kernel, 0, w.input);
    return static_cast<double>(std::max<int64_t>(0, last - first));
  }
  if (w.dilation == 1) return valid_taps(w);  // windows do not overlap
  int64_t most = 0;
  for (int64_t tap = 0; tap < w.kernel; ++tap) most = std::max(most, positions(w, tap));
  return static_cast<double>(most);
}

}  // namespace ridge::cost
