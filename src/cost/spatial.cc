#include "cost/spatial.h"

#include <algorithm>
#include <cmath>

namespace ridge::cost {
namespace {

int64_t entry(const std::vector<int64_t>& values, size_t i, int64_t otherwise) {
  return i < values.size() ? values[i] : otherwise;
}

}  // namespace

int64_t same_padding(const Window& window, bool lower) {
  // In floating point: a hostile file's values must not overflow; Window rejects absurd sizes itself.
  auto real = [](int64_t value) { return static_cast<double>(value); };
  double total = (real(window.output) - 1) * real(window.stride) + (real(window.kernel) - 1) * real(window.dilation) +
                 1 - real(window.input);
  return static_cast<int64_t>(std::clamp(lower ? std::ceil(total / 2) : std::floor(total / 2), 0.0, 1e15));
}

std::vector<Window> windows_of(const Context& context, const Shape& input, const Shape& output, const Shape& kernel) {
  if (input.size() != output.size() || input.size() != kernel.size() + 2) return {};
  std::vector<int64_t> strides = context.integers("strides"), dilations = context.integers("dilations");
  std::vector<int64_t> pads = context.integers("pads");
  std::string automatic = context.text("auto_pad");
  std::vector<Window> windows;
  for (size_t i = 0; i < kernel.size(); ++i) {
    Window window{.input = input[i + 2],
                  .output = output[i + 2],
                  .kernel = kernel[i],
                  .stride = entry(strides, i, 1),
                  .dilation = entry(dilations, i, 1),
                  .pad_begin = entry(pads, i, 0)};
    if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER")
      window.pad_begin = same_padding(window, automatic == "SAME_LOWER");
    windows.push_back(window);
  }
  return windows;
}

double valid_taps(const std::vector<Window>& windows) {
  double product = 1;
  for (const Window& window : windows) product *= valid_taps(window);
  return product;
}

double touched_elements(const std::vector<Window>& windows) {
  double product = 1;
  for (const Window& window : windows) product *= touched_elements(window);
  return product;
}

}  // namespace ridge::cost
