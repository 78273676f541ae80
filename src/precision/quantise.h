// Passes that make a model 8-bit or 4-bit. No engine runs here: activation ranges are an input.
//
// Every function takes a model in memory and, if it writes, replaces `out_file` only when all is written (large weights
// go to `out_file` + ".data"). The result passes ONNX's checker. Tensors and nodes keep their names, new ones are named
// after their tensor. Nodes in bodies of loops and branches stay unchanged. A nameless node is "<op>_<index>", as in
// model::Graph.
//
// Static form (QDQ): QuantizeLinear and DequantizeLinear pairs around the operators that ONNX Runtime and OpenVINO run
// in integers: Conv, MatMul, Gemm, ConvTranspose if it is named, and operators between them (Add, Mul, Concat, pooling,
// LeakyRelu, Sigmoid, and operators that only move values). BatchNormalization is folded into the convolution before
// it, the bias of a MatMul into a Gemm. Softmax, normalisations and Gelu stay in floating point. docs/decisions/0006
// says why. Sources: ONNX operators QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear, MatMulInteger; ONNX
// Runtime docs, "Quantize ONNX models"; Jacob et al., Quantization and training of neural networks, 2018, sections 2.1
// and 2.2.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/reader.h"
#include "precision/calibration.h"
#include "precision/pass_report.h"

namespace ridge::precision {

// What a weight of few bits is in the graph.
enum class WeightNodes {
  kMatMulNBits,  // one operator of the com.microsoft domain: ONNX Runtime
  kDequantize,   // DequantizeLinear with blocks (ONNX opset 21) before the operator: any engine
};

struct QuantiseOptions {
  bool per_channel = true;             // a scale for each output channel of a weight
  bool symmetric_activations = false;  // int8 with zero point 0, for GPUs; otherwise uint8 with a zero point
  bool reduce_range = false;           // weights of 7 bits: CPUs without VNNI add u8·s8 pairs in 16 bits
  bool activation_products = false;    // also MatMul of two activations (attention)
  std::set<std::string> keep_nodes;    // by name: stay in floating point
  std::set<std::string> operators;     // only these ("Conv", "MatMul", …); empty: all known ones
  WeightNodes weight_nodes = WeightNodes::kMatMulNBits;  // of quantise_weights()
};

// Names of the nodes that quantise_static() would run in integers, in topological order, without the excluded ones: the
// heavy nodes (with a weight, or a multiplication of activations), which are worth excluding.
Result<std::vector<std::string>> quantisable_nodes(const model::WholeModel& whole, const QuantiseOptions& options = {});

// Activations whose ranges quantise_static() needs, by their names in the file.
Result<std::vector<std::string>> calibration_tensors(const model::WholeModel& whole, const QuantiseOptions& options);

// Writes the model with `tensors` as additional outputs (existing outputs are not repeated). Error: a name missing from
// the model.
Status expose_tensors(const model::WholeModel& whole, const std::vector<std::string>& tensors,
                      const std::string& out_file);

// Static INT8 in QDQ form. A node with a tensor missing from `ranges` stays in floating point, with a note. Errors: a
// range that is not finite or inverted; nothing left to quantise.
Result<PassReport> quantise_static(const model::WholeModel& whole, const TensorRanges& ranges,
                                   const QuantiseOptions& options, const std::string& out_file);

// Dynamic INT8: MatMul with a constant weight (Gemm becomes MatMul and Add) as DynamicQuantizeLinear and MatMulInteger;
// the activation's scale is computed at each run, so no calibration is needed.
Result<PassReport> quantise_dynamic(const model::WholeModel& whole, const QuantiseOptions& options,
                                    const std::string& out_file);

// Weights of MatMul (and Gemm) in `bits` (4 or 8) with a scale per `block_size` values along the inner dimension (a
// power of two, 16 to 256); activations and arithmetic stay in floating point.
Result<PassReport> quantise_weights(const model::WholeModel& whole, int bits, int64_t block_size,
                                    const QuantiseOptions& options, const std::string& out_file);

}  // namespace ridge::precision
