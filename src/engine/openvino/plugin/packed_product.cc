#include "engine/openvino/plugin/packed_product.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <openvino/runtime/tensor.hpp>
#include <utility>

namespace ridge::engine::openvino::plugin {
namespace {

constexpr int64_t kRowsPerThread = 8;  // below, handing out rows costs more than to quantise them

template <typename Body>
void in_stream(int64_t count, int64_t grain, const Body& body) {
  tbb::parallel_for(
      tbb::blocked_range<int64_t>(0, count, static_cast<size_t>(grain)),
      [&](const tbb::blocked_range<int64_t>& range) {
        for (int64_t i = range.begin(); i < range.end(); ++i) body(i);
      },
      tbb::static_partitioner());
}

}  // namespace

PackedProduct::PackedProduct(const ov::Output<ov::Node>& x, PackedMatrices matrices)
    : Op({x}), matrices_(std::move(matrices)) {
  constructor_validate_and_infer_types();
}

void PackedProduct::validate_and_infer_types() {
  for (size_t i = 0; i < matrices_.size(); ++i) {
    ov::PartialShape shape = get_input_partial_shape(0);
    shape[shape.size() - 1] = matrices_[i]->rows;
    set_output_type(i, ov::element::f32, shape);
  }
}

std::shared_ptr<ov::Node> PackedProduct::clone_with_new_inputs(const ov::OutputVector& inputs) const {
  return std::make_shared<PackedProduct>(inputs.at(0), matrices_);
}

bool PackedProduct::evaluate(ov::TensorVector& outputs, const ov::TensorVector& inputs) const {
  const int64_t columns = matrices_.front()->columns;
  const int64_t rows = static_cast<int64_t>(inputs[0].get_size()) / columns;
  const auto* values = inputs[0].data<const float>();
  const bool wide = matrices_.front()->form == WeightForm::kBf16;
  QuantisedRows x(wide ? 0 : rows, columns);
  in_stream(x.rows(), kRowsPerThread, [&](int64_t row) { x.quantise(row, values + row * columns); });
  int64_t blocks = 0;
  for (const auto& matrix : matrices_) blocks += matrix->blocks();
  in_stream(blocks, 1, [&](int64_t block) {
    size_t i = 0;
    for (; block >= matrices_[i]->blocks(); ++i) block -= matrices_[i]->blocks();
    if (wide)
      multiply(*matrices_[i], block, values, rows, outputs[i].data<float>());
    else
      multiply(*matrices_[i], block, x, outputs[i].data<float>());
  });
  return true;
}

}  // namespace ridge::engine::openvino::plugin
