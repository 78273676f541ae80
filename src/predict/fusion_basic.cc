// What ONNX Runtime does at its level "basic" (1): nothing runs that can be known before, or that changes nothing; scales
// and offsets move into the weights of the convolution before them; a product and its bias become one Gemm.
#include <algorithm>
#include <map>
#include <sstream>

#include "predict/fusion_passes.h"
#include "predict/kernel_work.h"

namespace ridge::predict {
namespace {

bool has_body(const model::Node& node) {
  return std::any_of(node.attributes.begin(), node.attributes.end(), [](const auto& entry) {
    return std::holds_alternative<std::shared_ptr<const model::Graph>>(entry.second);
  });
}

bool is_random(const model::Node& node) {
  return node.op.starts_with("Random") || node.op == "Bernoulli" || node.op == "Multinomial";
}

// ------------------------------------------------------------------------------------------- equal nodes, once

void write(std::ostream& out, const model::Attribute& attribute) {
  std::visit(
      [&](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, double> || std::is_same_v<T, std::string>)
          out << value;
        else if constexpr (std::is_same_v<T, std::shared_ptr<const model::Graph>>)
          out << value.get();
        else
          for (const auto& element : value) out << element << ',';
      },
      attribute);
}

// Nodes of one key compute the same.
std::string key_of(const Rewriter& graph, const model::Node& node, std::map<std::string, int>& constants) {
  std::ostringstream key;
  key << node.domain << '.' << node.op << '/' << node.outputs.size();
  for (const auto& [name, attribute] : node.attributes) {
    key << ' ' << name << '=';
    write(key, attribute);
  }
  for (int t : node.inputs) {
    const model::TensorInfo* info = t < 0 ? nullptr : &graph.tensor(t);
    if (info != nullptr && graph.constant(t) && info->constant && info->shape) {  // equal small constants are one
      std::ostringstream value;
      value << static_cast<int>(info->type) << shape_text(*info->shape);
      for (int64_t element : *info->constant) value << ',' << element;
      t = constants.try_emplace(value.str(), t).first->second;
    }
    key << " #" << t;
  }
  return key.str();
}

// ---------------------------------------------------------------------------------------- what changes nothing

// The value of input 0 as it is.
bool passes_on(const Rewriter& graph, const model::Node& node) {
  if (node.inputs.empty() || node.inputs[0] < 0 || node.outputs.empty()) return false;
  if (node.op == "Identity") return true;
  if (node.op == "Dropout")
    return std::all_of(node.outputs.begin() + 1, node.outputs.end(),
                       [&](int t) { return t < 0 || (graph.users(t).empty() && !graph.is_output(t)); });
  if (node.op == "Cast") return graph.tensor(node.inputs[0]).type == graph.tensor(node.outputs[0]).type;
  if (graph.open_shape(node.inputs[0])) return false;
  const Shape *from = graph.shape(node.inputs[0]), *to = graph.shape(node.outputs[0]);
  const bool same = from != nullptr && to != nullptr && *from == *to;
  return same && (node.op == "Slice" || node.op == "Expand") &&
         std::all_of(node.inputs.begin() + 1, node.inputs.end(), [&](int t) { return t < 0 || graph.constant(t); });
}

// Known before the model runs. Weights stay quantised, for the kernels that take them so.
bool is_constant(const Rewriter& graph, const model::Node& node) {
  if (has_body(node) || is_random(node) || node.op == "DequantizeLinear") return false;
  if ((node.op == "Shape" || node.op == "Size") && !node.inputs.empty())
    return graph.shape(node.inputs[0]) != nullptr && !graph.open_shape(node.inputs[0]);
  return std::all_of(node.inputs.begin(), node.inputs.end(), [&](int t) { return t < 0 || graph.constant(t); });
}

void drop(Rewriter& graph, int n) {
  const model::Node node = graph.node(n);
  graph.remove(n);
  graph.replace_uses(node.outputs[0], node.inputs[0]);
}

// ------------------------------------------------------------------------------------------------ convolutions

// One value per channel (or one for all), in a shape that broadcasts over [batch, channel, row, column].
bool per_channel(const Rewriter& graph, int t, int64_t channels) {
  const Shape* shape = graph.shape(t);
  if (!graph.constant(t) || shape == nullptr) return false;
  if (graph.elements(t) == 1) return true;
  return shape->size() >= 3 && shape->size() <= 4 && (*shape)[shape->size() - 3] == channels &&
         graph.elements(t) == channels;
}

int64_t filters_of(const Rewriter& graph, const model::Node& node) {
  const Shape* weight =
      node.inputs.size() > 1 && graph.constant(node.inputs[1]) ? graph.shape(node.inputs[1]) : nullptr;
  return weight != nullptr && weight->size() >= 3 ? weight->front() : 0;
}

// Its weights are computed anew, times the factors of what follows.
void scale_weight(Rewriter& graph, int n) {
  const int weight = graph.node(n).inputs[1];
  const std::vector<DerivedWeight>& derived = graph.derived();
  const bool scaled = std::any_of(derived.begin(), derived.end(), [&](const DerivedWeight& one) {
    return one.to == weight && one.form == DerivedWeight::Form::kScaled;
  });
  if (scaled) return;
  model::TensorInfo info = graph.tensor(weight);
  info.name += "/scaled";
  graph.set_input(n, 1, graph.derive(weight, std::move(info), DerivedWeight::Form::kScaled));
}

void give_bias(Rewriter& graph, int n, int64_t channels) {
  if (graph.node(n).inputs.size() > 2 && graph.node(n).inputs[2] >= 0) return;
  const int bias = graph.add_tensor(
      {graph.node(n).name + "/bias", DataType::kFp32, Shape{channels}, model::TensorRole::kWeight, {}}, true);
  graph.set_input(n, 2, bias);
}

// What follows convolution `n` is a normalisation, scale or offset by constants: it is gone and `n` does it.
bool take_next(Rewriter& graph, int n) {
  const model::Node& node = graph.node(n);
  const int64_t channels = filters_of(graph, node);
  const int next = graph.only_user(node.outputs[0]);
  if (channels == 0 || next < 0 || !graph.node(next).domain.empty()) return false;
  const model::Node follower = graph.node(next);
  const bool constant_bias = node.inputs.size() < 3 || node.inputs[2] < 0 || graph.constant(node.inputs[2]);
  if (!constant_bias) return false;
  const size_t here = !follower.inputs.empty() && follower.inputs[0] == node.outputs[0] ? 0 : 1;
  if (follower.op == "BatchNormalization") {
    const bool inference =
        std::all_of(follower.outputs.begin() + 1, follower.outputs.end(), [](int t) { return t < 0; });
    if (here != 0 || !inference || follower.inputs.size() < 5) return false;
    if (!std::all_of(follower.inputs.begin() + 1, follower.inputs.end(), [&](int t) { return graph.constant(t); }))
      return false;
  } else if (follower.op == "Mul" || follower.op == "Add") {
    if (follower.inputs.size() != 2 || !per_channel(graph, follower.inputs[1 - here], channels)) return false;
    if (follower.op == "Add" && graph.elements(follower.inputs[1 - here]) == 1 && channels != 1) return false;
  } else {
    return false;
  }
  graph.remove(next);
  if (follower.op != "Mul") give_bias(graph, n, channels);
  if (follower.op != "Add") scale_weight(graph, n);
  graph.take_output(n, follower.outputs[0]);
  return true;
}

// Explicit zeros around the image become the padding of what reads it.
void take_padding(Rewriter& graph, int n) {
  const model::Node pad = graph.node(n);
  const int next = graph.only_user(pad.outputs.empty() ? -1 : pad.outputs[0]);
  if (next < 0 || pad.inputs.size() < 2 || pad.inputs[1] < 0 || pad.inputs.size() > 3) return;
  if (model::attribute_or<std::string>(pad, "mode", "constant") != "constant") return;
  const model::Node& user = graph.node(next);
  const std::optional<std::vector<int64_t>>& amounts = graph.tensor(pad.inputs[1]).constant;
  if (user.op != "Conv" || user.inputs[0] != pad.outputs[0] || !amounts || amounts->size() < 6) return;
  if (model::attribute_or<std::string>(user, "auto_pad", "NOTSET") != "NOTSET") return;
  const size_t rank = amounts->size() / 2;
  if ((*amounts)[0] != 0 || (*amounts)[1] != 0 || (*amounts)[rank] != 0 || (*amounts)[rank + 1] != 0) return;
  if (std::any_of(amounts->begin(), amounts->end(), [](int64_t amount) { return amount < 0; })) return;
  std::vector<int64_t> pads = model::attribute_or(user, "pads", std::vector<int64_t>(2 * (rank - 2), 0));
  if (pads.size() != 2 * (rank - 2)) return;
  for (size_t i = 0; i < rank - 2; ++i) {
    pads[i] += (*amounts)[i + 2];
    pads[i + rank - 2] += (*amounts)[i + 2 + rank];
  }
  graph.edit(next).attributes["pads"] = pads;
  graph.remove(n);
  graph.set_input(next, 0, pad.inputs[0]);
}

// -------------------------------------------------------------------------------------------------------- Gemm

int add_view(Rewriter& graph, const std::string& name, int input, int output) {
  const int shape =
      graph.add_tensor({name + "/shape", DataType::kInt64, Shape{2}, model::TensorRole::kWeight, {}}, true);
  return graph.add_node({name, "Reshape", "", {input, shape}, {output}, {}});
}

// [rows, k] · [k, n] + [n]; leading dimensions are laid together by views around it.
void become_gemm(Rewriter& graph, int product, int addition, int bias) {
  const model::Node node = graph.node(product);
  const int result = graph.node(addition).outputs[0];
  const Shape from = *graph.shape(node.inputs[0]);
  graph.remove(addition);
  graph.edit(product).op = "Gemm";
  graph.edit(product).attributes = {};
  int left = node.inputs[0];
  if (from.size() > 2) {
    const Shape out = *graph.shape(result);
    const int64_t rows = graph.elements(left) / from.back();
    model::TensorInfo flat = graph.tensor(left), flat_result = graph.tensor(result);
    flat.shape = Shape{rows, from.back()};
    flat.role = flat_result.role = model::TensorRole::kActivation;
    flat_result.shape = Shape{rows, out.back()};
    const int flat_left = graph.add_tensor(flat, false), flat_out = graph.add_tensor(flat_result, false);
    add_view(graph, node.name + "/rows", left, flat_left);
    graph.take_output(product, flat_out);
    add_view(graph, node.name + "/back", flat_out, result);
    left = flat_left;
  } else {
    graph.take_output(product, result);
  }
  graph.set_inputs(product, {left, node.inputs[1], bias});
}

}  // namespace

void spell_out_functions(Rewriter& graph) {
  for (int n = 0, count = graph.node_count(); n < count; ++n) {
    if (!graph.is(n, "HardSwish")) continue;
    const model::Node node = graph.node(n);
    const int gate = graph.add_tensor(graph.tensor(node.outputs[0]), false);
    graph.remove(n);
    graph.add_node({node.name + "/gate", "HardSigmoid", "", {node.inputs[0]}, {gate}, {}});
    graph.add_node({node.name, "Mul", "", {node.inputs[0], gate}, node.outputs, {}});
  }
}

void drop_what_does_not_run(Rewriter& graph) {
  std::map<std::string, int> seen, constants;
  for (int n = 0; n < graph.node_count(); ++n) {
    const model::Node& node = graph.node(n);
    if (node.outputs.empty()) continue;
    if (passes_on(graph, node) && !(graph.is_output(node.outputs[0]) && graph.maker(node.inputs[0]) < 0)) {
      drop(graph, n);
      continue;
    }
    if (node.outputs.size() == 1 && !has_body(node) && !is_random(node) && !graph.is_output(node.outputs[0])) {
      auto [entry, first] = seen.try_emplace(key_of(graph, node, constants), n);
      if (!first) {
        const int mine = node.outputs[0], others = graph.node(entry->second).outputs[0];
        graph.remove(n);
        graph.replace_uses(mine, others);
        continue;
      }
    }
    if (!is_constant(graph, node)) continue;
    for (int t : node.outputs)
      if (t >= 0) graph.make_constant(t, is_view(node.op));
    graph.remove(n);
  }
}

void fold_into_convolutions(Rewriter& graph) {
  for (int n = 0; n < graph.node_count(); ++n)
    if (graph.is(n, "Pad")) take_padding(graph, n);
  for (int n = 0; n < graph.node_count(); ++n)
    while (graph.is(n, "Conv") && take_next(graph, n)) {
    }
}

void fuse_matmul_and_add(Rewriter& graph) {
  for (int n = 0, count = graph.node_count(); n < count; ++n) {
    if (!graph.is(n, "MatMul")) continue;
    const model::Node& node = graph.node(n);
    const int next = graph.only_user(node.outputs[0]);
    if (!graph.is(next, "Add")) continue;
    const Shape *left = graph.shape(node.inputs[0]), *right = graph.shape(node.inputs[1]);
    if (left == nullptr || right == nullptr || right->size() != 2 || left->size() < 2) continue;
    if (left->size() > 2 && (graph.open_shape(node.inputs[0]) || !graph.constant(node.inputs[1]))) continue;
    const model::Node& addition = graph.node(next);
    const int bias = addition.inputs[0] == node.outputs[0] ? addition.inputs[1] : addition.inputs[0];
    const Shape* offsets = graph.shape(bias);
    const bool fits = graph.constant(bias) && offsets != nullptr && !offsets->empty() &&
                      offsets->back() == right->back() && graph.elements(bias) == right->back();
    if (fits) become_gemm(graph, n, next, bias);
  }
}

}  // namespace ridge::predict
