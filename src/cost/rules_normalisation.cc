// Normalisations and softmax, in FLOPs per element of the input:
//   BatchNormalization  a·x + b with a and b fixed per channel: 2 (folded into the neighbour by most engines)
//   Instance, Layer, Group  mean 1, difference 1, its square 1, their mean 1, ×1/σ 1, scale 1, bias 1: 7
//   RMS  square 1, mean 1, ×1/rms 1, scale 1: 4
//   Softmax  maximum 1, difference 1, exp 1, sum 1, division 1: 5; LogSoftmax: a log instead of the division
//   LRN  square 1, sum over `size` neighbours size − 1, scale and offset 2, power 1, division 1: size + 4
// Per-row work (a root, a logarithm) is left out: below one per cent.
#include "cost/rules.h"

namespace ridge::cost {
namespace {

void batch_normalisation(Context& context, double per_element) {
  bool training = context.integer("training_mode", 0) != 0;
  per_output_element(context, training ? 7 : per_element);
}

void lrn(Context& context, double) { per_output_element(context, static_cast<double>(context.integer("size", 1)) + 4); }

// x + skip (+ the bias, an input of its own), then the normalisation.
template <size_t kBias>
void skip_normalisation(Context& context, double per_element) {
  per_output_element(context, per_element + 1 + (context.has_input(kBias) ? 1 : 0));
}

// Attribute activation 1: swish.
void group_normalisation(Context& context, double per_element) {
  per_output_element(context, per_element + (context.integer("activation", 0) != 0 ? 5 : 0));
}

// Adds and normalises rows of three tables; reads at most the requested rows of a table.
void embedding(Context& context, double per_element) {
  per_output_element(context, per_element + (context.has_input(4) ? 2 : 1));
  double rows_bytes = context.output_bytes(0);
  for (size_t table : {2, 3, 4})
    if (context.has_input(table)) context.work.read[table] = std::min(context.work.read[table], rows_bytes);
}

constexpr Rule kNormalisationRules[] = {
    {kOnnx,
     "BatchNormalization",
     batch_normalisation,
     2,
     {kKeepsWholeBatchNorm, kFuses, kNormalises, kRunningStatistics}},
    {kOnnx, "InstanceNormalization", per_output_element, 7, {kKeepsChannelNorm, kNormalises}},
    {kOnnx, "LayerNormalization", per_output_element, 7, {kKeepsRowNorm, kVectors, kNormalises}},
    {kOnnx, "GroupNormalization", per_output_element, 7, {kKeepsChannelNorm, kNormalises}},
    {kOnnx, "RMSNormalization", per_output_element, 4, {kKeepsRowNorm, kVectors, kNormalises}},
    {kOnnx, "LRN", lrn, 0, {kKeepsInputAndOutput}},
    {kOnnx,
     "LpNormalization",
     per_output_element,
     3,
     {kKeepsInputAndOutput, kVectors, kNormalises}},                             // |x|^p, sum, division
    {kOnnx, "MeanVarianceNormalization", per_output_element, 5, {kNormalises}},  // as Instance without scale and bias
    {kOnnx, "SimplifiedLayerNormalization", per_output_element, 4, {kKeepsRowNorm, kVectors, kNormalises}},
    {kOnnx, "Softmax", per_output_element, 5, {kOverwrites, kKeepsOutput, kSumsToOne}},
    {kOnnx, "LogSoftmax", per_output_element, 5, {kOverwrites, kKeepsOutput}},
    {kOnnx, "Hardmax", per_output_element, 1},
    {kOnnx, "NegativeLogLikelihoodLoss", per_input_element, 1},
    {kOnnx, "SoftmaxCrossEntropyLoss", per_input_element, 6},
    {kMicrosoft, "SkipLayerNormalization", skip_normalisation<4>, 7, {kVectors, kNormalises}},
    {kMicrosoft, "SkipSimplifiedLayerNormalization", skip_normalisation<3>, 4, {kNormalises}},
    {kMicrosoft, "EmbedLayerNormalization", embedding, 7, {kNormalises}},
    {kMicrosoft, "GroupNorm", group_normalisation, 7, {kNormalises}},
    {kMicrosoft, "SkipGroupNorm", group_normalisation, 8, {kNormalises}},
    {kMicrosoft, "BiasSoftmax", per_output_element, 6, {kSumsToOne}},
    {kMicrosoft, "QOrderedLayerNormalization", per_output_element, 7, {kNormalises}},
};

}  // namespace

std::span<const Rule> normalisation_rules() { return kNormalisationRules; }

}  // namespace ridge::cost
