// Properties of an operator beside its FLOPs and bytes: the further columns of its row in rules_*.cc. A folder looks up
// an operator's behaviour here, so that adding one is a row; only code that computes a single operator names it.
#pragma once

#include <cstdint>
#include <string_view>

namespace ridge::cost {

// The first output's values compared with the first input's.
enum class Values : uint8_t {
  kNewValues,
  kSameValues,  // the same in the same order: engines make no copy
  kReordered,
  kSelected,  // some of them, or all several times
  kConverted,
};

// Where ONNX Runtime's CPU kernels put the first output unless it shares its input's memory, as their definitions say
// (MayInplace); seen by the peak memory of each operator alone on 64 MB (ONNX Runtime 1.31.1).
enum class Buffer : uint8_t {
  kOwnBuffer,
  kOverwrites,     // over the first input, if no other node needs it and the shape is the same
  kOverwritesSum,  // likewise the fourth, which a fused convolution adds
};

// Values of the forward pass that gradients need, as PyTorch keeps them (tools/autograd/derivatives.yaml).
enum class Backward : uint8_t {
  kUnknownGradient,
  kNoGradient,           // comparisons, shapes, arg-max, rounding
  kKeepsNothing,         // linear in its inputs: Add, Concat, Resize, ReduceMean …
  kKeepsInput,           // gelu, log, clip, Where …: the first input
  kKeepsOutput,          // relu, sigmoid, tanh, exp, softmax: `result` in derivatives.yaml
  kKeepsInputAndOutput,  // norms, extremes, products over an axis
  kKeepsFactors,         // an operand is kept if another one needs a gradient: d(a·b) = b·da + a·db
  kKeepsQuotient,        // d(a/b) = da/b − a·db/b²
  kKeepsPower,           // input; output too if the exponent is trained
  kKeepsIndices,         // the second input: where values came from
  kKeepsAllInputs,       // Max, Min, Einsum-like: all that need gradients
  kKeepsWholeBatchNorm,  // input, mean and inverse deviation per channel (save_mean, save_invstd)
  kKeepsChannelNorm,     // likewise per instance and channel
  kKeepsRowNorm,         // input, mean and inverse deviation per normalised row (mean, rstd)
  kKeepsMaxima,          // input and the 64-bit index of each maximum (self, result1)
  kKeepsMask,            // one byte per element (native_dropout: result1)
  kKeepsLstmGates,       // 4 gates, cell, tanh(cell) per step: derived from the equations in ONNX's LSTM
  kKeepsGruGates,        // 3 gates and the candidate's recurrent term per step: derived from ONNX's GRU
  kKeepsSecondOutput,    // TopK: indices
  kKeepsInputForWeight,  // X kept if W is trained, W if X needs a gradient (convolution_backward: input, weight)
};

// Says if it may follow a quantised tensor: ONNX Runtime's rules "drop", "1DQ", "2DQ", "*DQ", "Split"
// (qdq_selector_action_transformer.cc), without Softmax, whose inputs lose much in 8 bits, and Gather, whose index
// cannot be distinguished from its data.
enum class Integers : uint8_t {
  kNotInIntegers,
  kMovesInts,     // output values are input values: same scale and zero point
  kComputesInts,  // of one input, a range of its own
  kCombinesInts,  // of several inputs, all of them quantised
};

// The kernel that computes it in ONNX Runtime on CPUs, if weights or time depend on it.
enum class KernelFamily : uint8_t {
  kOtherKernel,
  kConvolution,
  kTransposedConvolution,
  kMatMul,
  kGatedRecurrence,
  kIntegerProduct,    // the second input are packed weights
  kQuantisedProduct,  // the fourth
};

enum class Trait : uint16_t {
  kDataSized = 1,       // only the data decide how much it returns
  kKeepsFirstSize = 2,  // the output has the size of the first input, whatever is written into it
  kRandom = 4,
  kVectors = 8,             // its outputs are vectors, whose direction counts
  kFuses = 16,              // every GPU engine computes it inside the kernel before or after it
  kNormalises = 32,         // by means and deviations of its input
  kRunningStatistics = 64,  // from the fourth on, its inputs were collected during training, not trained
  kSumsToOne = 128,         // over an axis: of rank 4, what attention weighs values by
  kLooksUp = 256,           // values of the second input are places along an axis of the first
  kClips = 512,             // to the range that its further inputs give, or to what is above 0
  kDequantises = 1024,
};

struct Operator {
  Values values = Values::kNewValues;
  Buffer buffer = Buffer::kOwnBuffer;
  Backward backward = Backward::kUnknownGradient;
  Integers integers = Integers::kNotInIntegers;
  KernelFamily kernel = KernelFamily::kOtherKernel;
  uint16_t traits = 0;

  // {kOverwrites, kKeepsOutput}: any columns in any order.
  template <typename... Columns>
  constexpr Operator(Columns... columns) {
    (set(columns), ...);
  }

  constexpr bool is(Trait trait) const { return (traits & static_cast<uint16_t>(trait)) != 0; }
  // The same values in another shape or order.
  constexpr bool rearranges() const { return values == Values::kSameValues || values == Values::kReordered; }

 private:
  constexpr void set(Values v) { values = v; }
  constexpr void set(Buffer b) { buffer = b; }
  constexpr void set(Backward b) { backward = b; }
  constexpr void set(Integers i) { integers = i; }
  constexpr void set(KernelFamily k) { kernel = k; }
  constexpr void set(Trait t) { traits |= static_cast<uint16_t>(t); }
};

// An operator without a row has the defaults of all columns. Domain "" is ai.onnx.
const Operator& operator_of(std::string_view domain, std::string_view op);

}  // namespace ridge::cost
