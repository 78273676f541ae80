// Passes that make an 8-bit or 4-bit model file of a floating-point one. No engine runs here: ranges of activations come in.
//
// Every function reads one file and, where it writes, replaces `out_file` only when all is written (large weights go to
// `out_file` + ".data"). The result passes ONNX's checker. Tensors and nodes keep their names, new ones are named after the
// tensor they belong to. Nodes in the bodies of loops and branches stay as they are. A node without a name is called
// "<op>_<index>", as in model::Graph.
//
// Static form (QDQ): QuantizeLinear and DequantizeLinear pairs around the operators that ONNX Runtime and OpenVINO run in
// integers: Conv, MatMul, Gemm, ConvTranspose if it is named, and what stands between them (Add, Mul, Concat, pooling, LeakyRelu,
// Sigmoid, and operators that only move values). BatchNormalization is folded into the convolution before it, the bias of a
// MatMul into a Gemm. Softmax, normalisations and Gelu stay in floating point. docs/decisions/0006 says why.
// Sources: ONNX operators QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear, MatMulInteger; ONNX Runtime
// docs, "Quantize ONNX models"; Jacob et al., Quantization and training of neural networks, 2018, sections 2.1 and 2.2.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "precision/calibration.h"
#include "precision/pass_report.h"

namespace ridge::precision {

enum class WeightForm {
  kMatMulNBits,  // one operator of the com.microsoft domain: ONNX Runtime
  kDequantize,   // DequantizeLinear with blocks (ONNX opset 21) before the operator: any engine
};

struct QuantiseOptions {
  bool per_channel = true;             // a scale for each output channel of a weight
  bool symmetric_activations = false;  // int8 with zero point 0, as GPUs want it; otherwise uint8 with a zero point
  bool reduce_range = false;           // weights of 7 bits: CPUs without VNNI add u8·s8 pairs in 16 bits
  bool activation_products = false;    // also MatMul of two activations (attention)
  std::set<std::string> keep_nodes;    // by name: stay in floating point
  std::set<std::string> operators;     // only these ("Conv", "MatMul", …); empty: all that are known
  WeightForm weight_form = WeightForm::kMatMulNBits;  // of quantise_weights()
};

// Names of the nodes that quantise_static() would run in integers, in topological order, without those to keep: the heavy
// ones (with a weight, or a product of activations), whose exclusion is worth trying.
Result<std::vector<std::string>> quantisable_nodes(const std::string& model_file, const QuantiseOptions& options = {});

// Activations whose ranges quantise_static() needs, as they are named in the file.
Result<std::vector<std::string>> calibration_tensors(const std::string& model_file, const QuantiseOptions& options);

// Writes the model with `tensors` as additional outputs (those that are outputs already are not repeated).
// Error: a name that the model does not have.
Status expose_tensors(const std::string& model_file, const std::vector<std::string>& tensors,
                      const std::string& out_file);

// Static INT8 in QDQ form. A node one of whose tensors has no range in `ranges` stays in floating point, and a note says so.
// Errors: a range that is not finite or inverted; nothing left to quantise.
Result<PassReport> quantise_static(const std::string& model_file, const TensorRanges& ranges,
                                   const QuantiseOptions& options, const std::string& out_file);

// Dynamic INT8: MatMul with a constant weight (Gemm becomes MatMul and Add) as DynamicQuantizeLinear and MatMulInteger; the
// activation's scale is found at each run, so no calibration is needed.
Result<PassReport> quantise_dynamic(const std::string& model_file, const QuantiseOptions& options,
                                    const std::string& out_file);

// Weights of MatMul (and Gemm) in `bits` (4 or 8) with a scale for each `block_size` values along the inner dimension (a power
// of two, 16 to 256); activations and arithmetic stay in floating point.
Result<PassReport> quantise_weights(const std::string& model_file, int bits, int64_t block_size,
                                    const QuantiseOptions& options, const std::string& out_file);

}  // namespace ridge::precision
