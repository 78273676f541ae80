#include "precision/matrix_bias.h"

#include <onnx/onnx_pb.h>

#include <algorithm>

#include "precision/tensors.h"

namespace ridge::precision {
namespace {

struct Pair {
  int product = 0;
  int sum = 0;
  std::string bias;
  Shape input;  // -1: open
};

class Fusion {
 public:
  explicit Fusion(PassModel& model) : model_(model) {}

  Result<int> run() {
    std::set<int> sums;
    const int count = model_.graph().node_size();
    for (int i = 0; i < count; ++i) {
      std::optional<Pair> pair = pair_at(i);
      if (!pair) continue;
      fuse(*pair);
      sums.insert(pair->sum);
    }
    model_.remove_nodes(sums);
    RIDGE_TRY(model_.sort());
    return static_cast<int>(sums.size());
  }

 private:
  const onnx::TensorProto* float_constant(const std::string& tensor) const {
    const onnx::TensorProto* found = model_.constant(tensor);
    return found && found->data_type() == onnx::TensorProto::FLOAT ? found : nullptr;
  }

  std::optional<Pair> pair_at(int index) {
    const onnx::NodeProto& product = model_.node(index);
    if (product.op_type() != "MatMul" || !product.domain().empty() || product.input_size() != 2) return std::nullopt;
    const onnx::TensorProto* weight = float_constant(product.input(1));
    const std::optional<Shape> shape = model_.shape_of(product.input(0));
    const bool fits = weight && weight->dims_size() == 2 && shape && shape->size() >= 2 && shape->back() > 0 &&
                      std::count(shape->begin(), shape->end() - 1, -1) <= 1 &&
                      std::count(shape->begin(), shape->end(), 0) == 0 &&
                      !model_.wiring().is_constant(product.input(0));
    if (!fits) return std::nullopt;
    std::optional<Pair> pair = sum_behind(product.output(0), weight->dims(1), shape->size());
    if (!pair) return std::nullopt;
    pair->product = index;
    pair->input = *shape;
    return pair;
  }

  // The Add of a constant per column that is the product's only reader.
  std::optional<Pair> sum_behind(const std::string& product, int64_t columns, size_t rank) {
    const Wiring& wiring = model_.wiring();
    if (wiring.uses_of(product) != 1 || wiring.is_fixed(product)) return std::nullopt;
    const Use use = wiring.uses.at(product)[0];
    const onnx::NodeProto& sum = model_.node(use.node);
    if (sum.op_type() != "Add" || !sum.domain().empty() || sum.input_size() != 2) return std::nullopt;
    const onnx::TensorProto* bias = float_constant(sum.input(1 - use.slot));
    if (!bias || bias->dims_size() < 1 || bias->dims_size() > static_cast<int>(rank)) return std::nullopt;
    for (int i = 0; i + 1 < bias->dims_size(); ++i)
      if (bias->dims(i) != 1) return std::nullopt;
    if (bias->dims(bias->dims_size() - 1) != columns) return std::nullopt;
    return Pair{.sum = use.node, .bias = sum.input(1 - use.slot), .input = {}};
  }

  void fuse(const Pair& pair) {
    onnx::NodeProto& node = model_.node(pair.product);
    const std::string result = model_.node(pair.sum).output(0);
    const int64_t columns = model_.constant(node.input(1))->dims(1);
    node.set_op_type("Gemm");
    node.add_input(vector_of(pair.bias));
    if (pair.input.size() == 2) {
      node.set_output(0, result);
      return;
    }
    node.set_input(0, matrix_of(node.input(0), pair.input.back()));
    const std::string flat = model_.unused_name(result + "_matrix");
    node.set_output(0, flat);
    Shape shape = pair.input;
    shape.back() = columns;
    model_.add_node("Reshape", result + "_Reshape", {flat, integers(result + "_shape", shape)}, result);
  }

  // [1, 1, N] → [N]
  std::string vector_of(const std::string& bias) {
    const onnx::TensorProto& tensor = *model_.constant(bias);
    if (tensor.dims_size() == 1) return bias;
    auto [entry, is_new] = vectors_.try_emplace(bias);
    if (!is_new) return entry->second;
    const int64_t size = tensor.dims(tensor.dims_size() - 1);
    entry->second = model_.unused_name(bias + "_vector");
    onnx::TensorProto copy = tensor;
    copy.set_name(entry->second);
    copy.clear_dims();
    copy.add_dims(size);
    model_.graph().add_initializer()->Swap(&copy);
    return entry->second;
  }

  std::string matrix_of(const std::string& tensor, int64_t inner) {
    auto [entry, is_new] = matrices_.try_emplace(tensor);
    if (!is_new) return entry->second;
    entry->second = model_.add_tensor(tensor + "_matrix", model_.type_of(tensor), {-1, inner});
    model_.add_node("Reshape", entry->second + "_Reshape", {tensor, integers(tensor + "_matrix_shape", {-1, inner})},
                    entry->second);
    return entry->second;
  }

  std::string integers(const std::string& name, const Shape& values) {
    return model_.add_constant(name, onnx::TensorProto::INT64, {static_cast<int64_t>(values.size())}, bytes_of(values));
  }

  PassModel& model_;
  std::map<std::string, std::string> matrices_;  // by tensor
  std::map<std::string, std::string> vectors_;   // by bias
};

}  // namespace

Result<int> fuse_biases(PassModel& model) { return Fusion(model).run(); }

}  // namespace ridge::precision
