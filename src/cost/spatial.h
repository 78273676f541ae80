// The attributes that convolutions and pools share (kernel, strides, dilations, padding), as one Window per spatial
// dimension. Private to cost/.
#pragma once

#include <vector>

#include "cost/rules.h"
#include "cost/window.h"

namespace ridge::cost {

// `input` and `output` are [batch, channel, spatial…]; `kernel` has one entry per spatial dimension. Padding is taken
// from pads or computed from auto_pad. Empty if the ranks disagree.
std::vector<Window> windows_of(const Context& context, const Shape& input, const Shape& output, const Shape& kernel);

// ONNX's SAME padding before the first element: what makes output = ceil(input / stride); the larger half of an odd
// number goes to the end, or to the beginning if `lower`.
int64_t same_padding(const Window& window, bool lower);

double valid_taps(const std::vector<Window>& windows);        // product over the dimensions
double touched_elements(const std::vector<Window>& windows);  // likewise

}  // namespace ridge::cost
