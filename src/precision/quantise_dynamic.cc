#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include "model/guarded.h"
#include "precision/affine.h"
#include "precision/attributes.h"
#include "precision/matmuls.h"
#include "precision/pass_model.h"
#include "precision/quantise.h"
#include "precision/sites.h"
#include "precision/tensors.h"

namespace ridge::precision {
namespace {

constexpr int64_t kDynamicOpset = 11;  // of DynamicQuantizeLinear

// y = MatMul(x, w) becomes y = Cast(MatMulInteger(q, w8, z)) · (s · s_w) with q, s, z = DynamicQuantizeLinear(x): the
// chain that ONNX Runtime runs as one operator.
class DynamicPass {
 public:
  DynamicPass(PassModel& model, const QuantiseOptions& options) : model_(model), options_(options) {}

  Result<PassReport> run() {
    const MatMulPass pass{is_matrix_product,
                          [this](const Site& site, PassReport& notes) { return replace(site, notes); }};
    RIDGE_ASSIGN(PassReport report, quantise_matmuls(model_, options_, pass));
    model_.remove_nodes(replaced_);
    return report;
  }

 private:
  struct Weight {
    std::string values;
    std::string scale;
    std::string zero_point;
    bool usable = true;
  };
  struct Activation {
    std::string values;
    std::string scale;
    std::string zero_point;
  };

  Result<bool> replace(const Site& site, PassReport& report) {
    const onnx::NodeProto node = model_.node(site.node);  // a copy: nodes are added below
    RIDGE_ASSIGN(const Weight weight, weight_of(site, node));
    if (!weight.usable) {
      report.notes.push_back(fmt::format("{} stays in floating point: its weights are not all finite.", node.name()));
      return false;
    }
    const Activation input = quantised_input(node.input(0));
    const std::string& result = node.output(0);
    const std::string product =
        add("MatMulInteger", result, "_integer", {input.values, weight.values, input.zero_point, weight.zero_point});
    const std::string real = add("Cast", result, "_cast", {product});
    set_integer(model_.node(model_.graph().node_size() - 1), "to", onnx::TensorProto::FLOAT);
    const std::string scale = add("Mul", result, "_scale", {input.scale, weight.scale});
    if (site.bias.empty()) {
      finish("Mul", node, {real, scale});
    } else {
      RIDGE_ASSIGN(const std::string bias, bias_of(site, node));
      finish("Add", node, {add("Mul", result, "_product", {real, scale}), bias});
    }
    replaced_.insert(site.node);
    return true;
  }

  // One DynamicQuantizeLinear per tensor, shared by its readers.
  const Activation& quantised_input(const std::string& tensor) {
    auto [entry, is_new] = activations_.try_emplace(tensor);
    if (!is_new) return entry->second;
    entry->second = {model_.unused_name(tensor + "_quantized"), model_.unused_name(tensor + "_scale"),
                     model_.unused_name(tensor + "_zero_point")};
    onnx::NodeProto& node =
        model_.add_node("DynamicQuantizeLinear", tensor + "_DynamicQuantizeLinear", {tensor}, entry->second.values);
    node.add_output(entry->second.scale);
    node.add_output(entry->second.zero_point);
    return entry->second;
  }

  // [in, out] int8; Gemm's transposition and alpha are part of it.
  Result<Weight> weight_of(const Site& site, const onnx::NodeProto& node) {
    const float alpha = node.op_type() == "Gemm" ? float_attribute(node, "alpha", 1) : 1.0F;
    const auto key = std::make_tuple(site.weight, site.weight_axis, alpha);
    if (auto known = weights_.find(key); known != weights_.end()) return known->second;
    RIDGE_ASSIGN(WeightMatrix matrix, weight_matrix(model_, site));
    if (!all_finite(matrix.values)) return weights_[key] = {"", "", "", false};
    for (float& value : matrix.values) value *= alpha;
    const std::vector<int64_t> shape{matrix.rows, matrix.columns};
    const ChannelLayout layout =
        options_.per_channel ? ChannelLayout{shape[0], shape[1], 1} : ChannelLayout{1, 1, shape[0] * shape[1]};
    const Int8Weights quantised = quantise_int8(matrix.values, layout, options_.reduce_range);
    const std::vector<int64_t> per_column =
        options_.per_channel ? std::vector<int64_t>{shape[1]} : std::vector<int64_t>{};
    Weight made;
    made.values =
        model_.add_constant(site.weight + "_quantized", onnx::TensorProto::INT8, shape, bytes_of(quantised.values));
    made.scale =
        model_.add_constant(site.weight + "_scale", onnx::TensorProto::FLOAT, per_column, bytes_of(quantised.scales));
    made.zero_point = model_.add_constant(site.weight + "_zero_point", onnx::TensorProto::INT8, per_column,
                                          std::string(quantised.scales.size(), '\0'));
    return weights_[key] = made;
  }

  // Gemm's bias with beta in it.
  Result<std::string> bias_of(const Site& site, const onnx::NodeProto& gemm) {
    const float beta = float_attribute(gemm, "beta", 1);
    if (beta == 1) return site.bias;
    const onnx::TensorProto& tensor = *model_.constant(site.bias);
    const std::vector<int64_t> shape(tensor.dims().begin(), tensor.dims().end());
    RIDGE_ASSIGN(std::vector<float> values, model_.values(tensor));
    for (float& value : values) value *= beta;
    return model_.add_constant(site.bias + "_scaled", onnx::TensorProto::FLOAT, shape, bytes_of(values));
  }

  // An intermediate node, named after its tensor.
  std::string add(const std::string& op, const std::string& tensor, const std::string& suffix,
                  const std::vector<std::string>& inputs) {
    return model_.add_node(op, tensor + "_" + op, inputs, model_.unused_name(tensor + suffix)).output(0);
  }

  // The last node of the chain takes the name and output of the original.
  void finish(const std::string& op, const onnx::NodeProto& original, const std::vector<std::string>& inputs) {
    model_.add_node(op, original.name(), inputs, original.output(0)).set_name(original.name());
  }

  PassModel& model_;
  const QuantiseOptions& options_;
  std::map<std::string, Activation> activations_;
  std::map<std::tuple<std::string, int, float>, Weight> weights_;
  std::set<int> replaced_;
};

Result<PassReport> quantised(const model::WholeModel& whole, const QuantiseOptions& options,
                             const std::string& out_file) {
  RIDGE_ASSIGN(PassModel model, PassModel::open(whole, kDynamicOpset));
  RIDGE_ASSIGN(PassReport report, DynamicPass(model, options).run());
  RIDGE_ASSIGN(report.bytes, model.write(out_file));
  report.file = out_file;
  return report;
}

}  // namespace

Result<PassReport> quantise_dynamic(const model::WholeModel& whole, const QuantiseOptions& options,
                                    const std::string& out_file) {
  return model::guarded("quantise " + whole.path, [&] { return quantised(whole, options, out_file); });
}

}  // namespace ridge::precision
