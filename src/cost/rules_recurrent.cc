// Recurrent layers. Per direction, step and batch item, each of the G gates of H units multiplies the input (I) and the
// state (H): G·H·(I + H) multiply-adds. The rest, per unit:
//   RNN   bias 1, tanh 1
//   GRU   biases 3, two sigmoids 8, tanh 1, reset·state 1, (1 − z)·h̃ + z·h 4
//   LSTM  biases 4, three sigmoids 12, two tanh 2, f·c + i·c̃ 3, o·tanh(c) 1; peepholes 6
#include "cost/rules.h"

namespace ridge::cost {
namespace {

// Elementwise work per unit with biases, and the biases' part of it.
void recurrent(Context& context, double gates, double per_unit) {
  const Shape *x = context.input_shape(0), *w = context.input_shape(1);
  if (x == nullptr || w == nullptr) return;
  if (x->size() != 3 || w->size() != 3) return context.mark_unknown();
  double cells = static_cast<double>((*x)[0]) * static_cast<double>((*x)[1]);  // steps × batch, in either layout
  double directions = static_cast<double>((*w)[0]);
  double units = static_cast<double>((*w)[1]) / gates;
  double inputs = static_cast<double>((*w)[2]);
  double macs = cells * directions * gates * units * (inputs + units);
  bool may_be_shorter = context.has_input(4) && !context.inputs[4].weight;  // sequence_lens: known at run time only
  context.multiply_adds(macs, may_be_shorter ? 0 : macs);
  double biases = context.has_input(3) ? gates : 0;
  double peepholes = gates == 4 && context.has_input(7) ? 6 : 0;
  context.add_flops(cells * directions * units * (per_unit + biases + peepholes));
}

void rnn(Context& context, double per_unit) { recurrent(context, 1, per_unit); }
void gru(Context& context, double per_unit) { recurrent(context, 3, per_unit); }
void lstm(Context& context, double per_unit) { recurrent(context, 4, per_unit); }

constexpr Rule kRecurrentRules[] = {
    {kOnnx, "RNN", rnn, 1, {kKeepsInputAndOutput}},
    {kOnnx, "GRU", gru, 14, {kKeepsGruGates, kGatedRecurrence}},
    {kOnnx, "LSTM", lstm, 18, {kKeepsLstmGates, kGatedRecurrence}},
    {kMicrosoft, "DynamicQuantizeLSTM", lstm, 18},
};

}  // namespace

std::span<const Rule> recurrent_rules() { return kRecurrentRules; }

}  // namespace ridge::cost
