// A decoder between one attention and the next, by products of packed matrices (packed_kernels.h), as one node of
// OpenVINO's graph: the engine infers the shapes of each foreign node again in every step, by a clone, which takes some
// 10 us. It runs the node by its evaluate(), in the threads of the stream.
#pragma once

#include <memory>
#include <openvino/op/op.hpp>
#include <optional>
#include <vector>

#include "engine/openvino/packed_kernels.h"

namespace ridge::engine::openvino::plugin {

struct PackedLinear {
  PackedMatrix matrix;
  std::vector<float> bias;  // [matrix.rows]; empty: none
};

struct BlockWeights {
  // A layer's parts after the attention.
  struct Layer {
    PackedLinear output;
    std::vector<float> norm;  // [hidden], as below
    PackedLinear gate, up, down;
  };
  std::optional<Layer> layer;  // none before the first attention
  float epsilon = 0;
  std::vector<float> norm;
  std::vector<PackedLinear> products;  // queries, keys and values of the next attention; or the logits
  bool last = false;                   // nothing adds to x any more
};

// Inputs, FP32: x [..., hidden]; with a layer, attention's result [..., output.matrix.columns]. Outputs, FP32: with a
// layer that is not the last, the new x; then [..., rows] of each product.
class PackedBlock final : public ov::op::Op {
 public:
  OPENVINO_OP("PackedBlock", "ridge")

  // Where packed_kernels() is not null.
  PackedBlock(const ov::OutputVector& inputs, std::shared_ptr<const BlockWeights> weights);

  void validate_and_infer_types() override;
  std::shared_ptr<ov::Node> clone_with_new_inputs(const ov::OutputVector& inputs) const override;
  bool has_evaluate() const override { return true; }
  bool evaluate(ov::TensorVector& outputs, const ov::TensorVector& inputs) const override;

 private:
  const std::shared_ptr<const BlockWeights> weights_;
};

}  // namespace ridge::engine::openvino::plugin
