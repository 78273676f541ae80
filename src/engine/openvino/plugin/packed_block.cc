#include "engine/openvino/plugin/packed_block.h"

#include <tbb/blocked_range.h>
#include <tbb/parallel_for.h>

#include <algorithm>
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

std::unique_ptr<float[]> memory(int64_t rows, int64_t columns) {
  return std::make_unique_for_overwrite<float[]>(static_cast<size_t>(rows * columns));
}

const PackedKernels& kernels() { return *packed_kernels(); }

// Rows as packed matrices take them.
class Factors {
 public:
  Factors(const float* values, int64_t rows, const PackedMatrix& matrix)
      : values_(values), rows_(rows), quantised_(matrix.is_wide() ? 0 : rows, matrix.columns) {
    in_stream(quantised_.rows, kRowsPerThread,
              [&](int64_t row) { kernels().quantise(quantised_, row, values + row * matrix.columns); });
  }
  // Multiplies as the kernels do, and adds the bias.
  void multiply(const PackedLinear& linear, int64_t block, float* result, const float* beside = nullptr) const {
    const PackedMatrix& matrix = linear.matrix;
    if (matrix.is_wide())
      kernels().multiply_wide(matrix, block, values_, rows_, result, beside);
    else
      kernels().multiply_int(matrix, block, quantised_, result, beside);
    if (linear.bias.empty()) return;
    for (int64_t row = 0; row < rows_; ++row)
      for (int64_t c = block * kBlockRows; c < std::min((block + 1) * kBlockRows, matrix.rows); ++c)
        result[row * matrix.rows + c] += linear.bias[static_cast<size_t>(c)];
  }

 private:
  const float* const values_;
  const int64_t rows_;
  QuantisedRows quantised_;
};

std::unique_ptr<float[]> normed(const float* x, int64_t rows, const std::vector<float>& norm, float epsilon) {
  std::unique_ptr<float[]> result = memory(rows, static_cast<int64_t>(norm.size()));
  in_stream(rows, kRowsPerThread, [&](int64_t row) {
    const int64_t at = row * static_cast<int64_t>(norm.size());
    kernels().normalise({x + at, norm.size()}, norm.data(), epsilon, result.get() + at);
  });
  return result;
}

// The new x, from the old one and attention's result.
void run(const BlockWeights::Layer& layer, float epsilon, const float* x, const float* attended, int64_t rows,
         float* result) {
  const PackedMatrix &output = layer.output.matrix, &gates = layer.gate.matrix, &down = layer.down.matrix;
  const Factors to_output(attended, rows, output);
  in_stream(output.blocks(), 1, [&](int64_t block) { to_output.multiply(layer.output, block, result, x); });
  const auto between = normed(result, rows, layer.norm, epsilon);
  const auto wide = memory(rows, gates.rows), up = memory(rows, gates.rows);
  const Factors to_gate(between.get(), rows, gates);
  in_stream(gates.blocks(), 1, [&](int64_t block) {
    to_gate.multiply(layer.gate, block, wide.get());
    to_gate.multiply(layer.up, block, up.get());
    const int64_t begin = block * kBlockRows, count = std::min(kBlockRows, gates.rows - begin);
    for (int64_t at = begin; at < rows * gates.rows; at += gates.rows)
      kernels().gate({wide.get() + at, static_cast<size_t>(count)}, up.get() + at);
  });
  const Factors to_down(wide.get(), rows, down);
  in_stream(down.blocks(), 1, [&](int64_t block) { to_down.multiply(layer.down, block, result, result); });
}

}  // namespace

PackedBlock::PackedBlock(const ov::OutputVector& inputs, std::shared_ptr<const BlockWeights> weights)
    : Op(inputs), weights_(std::move(weights)) {
  constructor_validate_and_infer_types();
}

void PackedBlock::validate_and_infer_types() {
  ov::PartialShape shape = get_input_partial_shape(0);
  size_t output = 0;
  if (weights_->layer && !weights_->last) set_output_type(output++, ov::element::f32, shape);
  for (const PackedLinear& linear : weights_->products) {
    shape[shape.size() - 1] = linear.matrix.rows;
    set_output_type(output++, ov::element::f32, shape);
  }
}

std::shared_ptr<ov::Node> PackedBlock::clone_with_new_inputs(const ov::OutputVector& inputs) const {
  return std::make_shared<PackedBlock>(inputs, weights_);
}

bool PackedBlock::evaluate(ov::TensorVector& outputs, const ov::TensorVector& inputs) const {
  const BlockWeights& weights = *weights_;
  const PackedMatrix& first = weights.products.front().matrix;
  const int64_t rows = static_cast<int64_t>(inputs[0].get_size()) / first.columns;
  const float* x = inputs[0].data<const float>();
  size_t output = 0;
  std::unique_ptr<float[]> last;
  if (weights.layer) {
    if (weights.last) last = memory(rows, first.columns);
    float* sum = weights.last ? last.get() : outputs[output++].data<float>();
    run(*weights.layer, weights.epsilon, x, inputs[1].data<const float>(), rows, sum);
    x = sum;
  }
  const auto before = normed(x, rows, weights.norm, weights.epsilon);
  const Factors factors(before.get(), rows, first);
  int64_t blocks = 0;
  for (const PackedLinear& linear : weights.products) blocks += linear.matrix.blocks();
  in_stream(blocks, 1, [&](int64_t block) {
    size_t i = 0;
    for (; block >= weights.products[i].matrix.blocks(); ++i) block -= weights.products[i].matrix.blocks();
    factors.multiply(weights.products[i], block, outputs[output + i].data<float>());
  });
  return true;
}

}  // namespace ridge::engine::openvino::plugin
