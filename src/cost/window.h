// A window (kernel) that slides over one dimension: how many of its positions fall on existing elements.
//
// A convolution's published FLOPs count every tap of every output; taps on padding multiply by zero and an
// engine may skip them, so a lower bound on time must not count them.
#pragma once

#include <cstdint>

namespace ridge::cost {

struct Window {
  int64_t input = 0;   // elements along the dimension
  int64_t output = 0;  // positions of the window
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t pad_begin = 0;
};

// Pairs (output position, tap) that fall on an element.
double valid_taps(const Window& window);

// Elements that are covered by some tap; exact without dilation, a lower bound with it.
double touched_elements(const Window& window);

}  // namespace ridge::cost
