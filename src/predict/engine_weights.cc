#include "predict/engine_weights.h"

#include <algorithm>
#include <memory>
#include <string_view>
#include <unordered_set>

#include "base/rounding.h"

namespace ridge::predict {
namespace {

using Body = std::shared_ptr<const model::Graph>;
using Ops = std::unordered_set<std::string_view>;

bool is_weight(const model::TensorInfo& info) { return info.role == model::TensorRole::kWeight; }

std::vector<bool> made_by_nodes(const model::Graph& graph) {
  std::vector<bool> made(graph.tensors.size());
  for (const model::Node& node : graph.nodes)
    for (int t : node.outputs)
      if (t >= 0) made[static_cast<size_t>(t)] = true;
  return made;
}

void list_stored(const model::Graph& graph, EngineWeights& weights) {
  const std::vector<bool> made = made_by_nodes(graph);
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    const int64_t bytes = stored_bytes(graph.tensors[t]);
    if (is_weight(graph.tensors[t]) && !made[t] && bytes > 0)
      weights.stored.push_back({static_cast<int>(t), bytes, bytes, -1, 0});
  }
}

// Dequantised weights are not computed: kernels on integers take them as they are stored, and where there is no such kernel the
// dequantisation runs with the model.
void list_derived(const Execution& execution, EngineWeights& weights) {
  auto bytes_of = [&](int t) { return t < 0 ? 0 : stored_bytes(execution.graph.tensors[static_cast<size_t>(t)]); };
  for (const auto& [from, to, form] : execution.derived) {
    const int64_t before = bytes_of(from), after = bytes_of(to);
    switch (form) {
      case DerivedWeight::Form::kComputed:
        if (after > 0) weights.computed.push_back({to, after, after, -1, 0});
        break;
      case DerivedWeight::Form::kScaled: weights.folded.push_back({to, before, after, from, 0}); break;
      case DerivedWeight::Form::kBlocked: weights.blocked.push_back({from, before, after, -1, 0}); break;
    }
  }
}

// Weights of loops and branches lie beside the others; what a body only uses of the graph around it is listed there.
void list_of_bodies(const model::Graph& graph, std::unordered_set<std::string_view> around, int& next_id,
                    EngineWeights& weights) {
  for (const model::TensorInfo& tensor : graph.tensors) around.insert(tensor.name);
  for (const model::Node& node : graph.nodes)
    for (const auto& [name, attribute] : node.attributes) {
      const Body* body = std::get_if<Body>(&attribute);
      if (body == nullptr || !*body) continue;
      for (const model::TensorInfo& tensor : (*body)->tensors) {
        const int64_t bytes = stored_bytes(tensor);
        if (is_weight(tensor) && bytes > 0 && !around.contains(tensor.name))
          weights.stored.push_back({next_id++, bytes, bytes, -1, 0});
      }
      list_of_bodies(**body, around, next_id, weights);
    }
}

// ------------------------------------------------------------------------------------------------ packed for kernels

// In the kernel's own form; after_bytes 0: it stays as it is.
struct PackedForm {
  int64_t after_bytes = 0, aside_bytes = 0;
};

// Whole columns of 16 (MlasGemmPackBSize).
PackedForm packed_product(int64_t depth, int64_t columns) { return {depth * round_up(columns, 16) * 4, 0}; }

// Of 8-bit integers: depth in fours, columns in sixteens, and a sum of 32 bits per column (MlasGemmPackBSize of qgemm.cpp).
int64_t packed_integers(int64_t depth, int64_t columns) { return round_up(columns, 16) * (round_up(depth, 4) + 4); }

// Packing per group, out of a copy with the channels last; depthwise kernels take the filters reordered, and so do those of whole
// fours of channels into whole sixteens (providers/cpu/quantization/qlinearconv.cc, PrePack; MlasConvSymPackWSize).
PackedForm packed_filters(const Shape& filters, int64_t group) {
  int64_t taps = 1;
  for (size_t i = 2; i < filters.size(); ++i) taps *= filters[i];
  const int64_t out = filters[0], in = filters[1];
  const bool depthwise = in == 1 && out == group, symmetric = group == 1 && in % 4 == 0 && out % 16 == 0;
  if (depthwise || symmetric) return {out * in * taps, 0};
  const int64_t of_group = out / std::max<int64_t>(group, 1);
  return {group * packed_integers(in * taps, of_group), of_group * in * taps};
}

// A matrix given transposed is turned round first (providers/cpu/quantization/matmul_integer_base.h, PrePack).
PackedForm packed_integer_product(const Shape& shape, bool transposed) {
  if (!transposed) return {packed_integers(shape[0], shape[1]), 0};
  return {packed_integers(shape[1], shape[0]), shape[0] * shape[1]};
}

bool is_real_product(const model::Node& node) {
  static const Ops kOps = {"MatMul", "Gemm", "FusedMatMul", "FusedGemm"};
  return kOps.contains(node.op);
}

bool is_integer_product(const model::Node& node) {
  static const Ops kOps = {"QLinearMatMul", "QGemm", "MatMulInteger", "MatMulIntegerToFloat", "DynamicQuantizeMatMul"};
  return kOps.contains(node.op);
}

// Of input `i` of a node.
PackedForm packed_form(const model::Node& node, size_t i, const model::TensorInfo& info) {
  const Shape& shape = *info.shape;
  const bool real = info.type == DataType::kFp32, bytes = data_type_size(info.type) == 1;
  const bool transposed = model::attribute_or<int64_t>(node, "transB", 0) != 0;
  if (is_real_product(node) && i == 1 && real && shape.size() == 2)
    return packed_product(shape[transposed ? 1 : 0], shape[transposed ? 0 : 1]);
  // [directions, gates · units, depth] (rnn/deep_cpu_lstm.cc, deep_cpu_gru.cc)
  if ((node.op == "LSTM" || node.op == "GRU") && (i == 1 || i == 2) && real && shape.size() == 3)
    return {shape[0] * packed_product(shape[2], shape[1]).after_bytes, 0};
  if (is_integer_product(node) && bytes && shape.size() == 2) return packed_integer_product(shape, transposed);
  if (node.op == "QLinearConv" && bytes && shape.size() > 2)
    return packed_filters(shape, model::attribute_or<int64_t>(node, "group", 1));
  return {};
}

void list_packed(const model::Graph& executed, EngineWeights& weights) {
  for (const model::Node& node : executed.nodes)
    for (size_t i = 1; i < node.inputs.size(); ++i) {
      const int t = node.inputs[i];
      if (t < 0) continue;
      const model::TensorInfo& info = executed.tensors[static_cast<size_t>(t)];
      const int64_t before = stored_bytes(info);
      if (!is_weight(info) || before == 0) continue;
      if (const PackedForm form = packed_form(node, i, info); form.after_bytes > 0)
        weights.packed.push_back({t, before, form.after_bytes, -1, form.aside_bytes});
    }
}

bool has_dequantised_weights(const model::Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const model::Node& node) {
    return node.op == "DequantizeLinear" && !node.inputs.empty() && node.inputs[0] >= 0 &&
           is_weight(graph.tensors[static_cast<size_t>(node.inputs[0])]);
  });
}

}  // namespace

int64_t stored_bytes(const model::TensorInfo& info) {
  return info.shape ? static_cast<int64_t>(byte_size(info.type, *info.shape).value_or(0)) : 0;
}

EngineWeights engine_weights(const model::Graph& graph, const Execution& execution) {
  EngineWeights weights;
  list_stored(graph, weights);
  int next_id = static_cast<int>(execution.graph.tensors.size());
  list_of_bodies(graph, {}, next_id, weights);
  list_derived(execution, weights);
  list_packed(execution.graph, weights);
  weights.dequantised = has_dequantised_weights(graph);
  return weights;
}

}  // namespace ridge::predict
