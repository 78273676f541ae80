// x · matrixᵀ of packed matrices (packed_matrix.h) as a node of OpenVINO's graph. The engine runs it by its evaluate(), in the threads of the stream.
#pragma once

#include <memory>
#include <openvino/op/op.hpp>
#include <vector>

#include "engine/openvino/packed_matrix.h"

namespace ridge::engine::openvino::plugin {

using PackedMatrices = std::vector<std::shared_ptr<const PackedMatrix>>;

// One input, FP32 [..., columns]; an output, FP32 [..., rows], per matrix. All matrices have the same columns.
class PackedProduct final : public ov::op::Op {
 public:
  OPENVINO_OP("PackedProduct", "ridge")

  PackedProduct(const ov::Output<ov::Node>& x, PackedMatrices matrices);

  void validate_and_infer_types() override;
  std::shared_ptr<ov::Node> clone_with_new_inputs(const ov::OutputVector& inputs) const override;
  bool has_evaluate() const override { return true; }
  bool evaluate(ov::TensorVector& outputs, const ov::TensorVector& inputs) const override;

 private:
  const PackedMatrices matrices_;
};

}  // namespace ridge::engine::openvino::plugin
