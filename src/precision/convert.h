// FP32 → FP16 or BF16: nodes compute in 16 bits, with Casts at the borders to FP32.
//
// Replaces `out_file` only when all is written (large weights go to `out_file` + ".data"); the result passes ONNX's
// checker. BatchNormalization is folded into the convolution before it; all other nodes, and the tensors, keep their
// names. A node stays in FP32 if it is named in the options, if its operator (at the model's opset) has no 16-bit form,
// or if a weight exceeds the range of 16 bits; each such reason is a note.
// Ranges: IEEE 754-2008 table 3.5 (binary16: largest 65504, least subnormal 2⁻²⁴); BF16 has FP32's exponent.
#pragma once

#include <set>
#include <string>

#include "base/result.h"
#include "base/units.h"
#include "model/reader.h"
#include "precision/pass_report.h"

namespace ridge::precision {

struct ConvertOptions {
  std::set<std::string> keep_nodes;      // by name: stay in FP32
  std::set<std::string> keep_operators;  // by type, besides those of default_keep_operators()
  bool keep_io_types = true;             // inputs and outputs of the model stay FP32
  // Stores only weights in 16 bits, with a Cast to FP32 behind each; the arithmetic stays FP32: half the file, for
  // every engine. ONNX Runtime's CPU provider has no BF16 kernels, so a model that computes in BF16 is for other
  // providers and engines.
  bool weights_only = false;
};

// Operators that lose accuracy or are undefined in 16 bits (sums of squares, of exponentials, rounded positions).
const std::set<std::string>& default_keep_operators();

// `precision`: kFp16 or kBf16; others are an error.
Result<PassReport> convert(const model::WholeModel& whole, Precision precision, const ConvertOptions& options,
                           const std::string& out_file);

}  // namespace ridge::precision
