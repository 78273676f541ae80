#include "model/graph_from_onnx.h"

#include <onnx/onnx_pb.h>

#include <set>
#include <unordered_map>

#include "model/onnx_types.h"
#include "model/packed_weights.h"

namespace ridge::model {
namespace {

constexpr size_t kPublishedConstant = 64;  // elements; see TensorInfo::constant

// ------------------------------------------------------------------------------------------------------ attributes

// The values of a small tensor attribute, as integers or reals.
std::optional<Attribute> attribute_from(const onnx::TensorProto& tensor) {
  std::optional<SmallTensor> value = small_tensor_from(tensor);
  if (!value || !value->known() || value->elements.size() > kPublishedConstant) return std::nullopt;
  if (is_real_type(value->onnx_type)) {
    std::vector<double> reals;
    for (const auto& element : value->elements) reals.push_back(static_cast<double>(*element));
    return Attribute(std::move(reals));
  }
  std::vector<int64_t> integers;
  for (const auto& element : value->elements) integers.push_back(static_cast<int64_t>(*element));
  return Attribute(std::move(integers));
}

class GraphBuilder;
std::shared_ptr<const Graph> subgraph_from(const onnx::GraphProto& proto, const GraphBuilder& outer);

std::optional<Attribute> attribute_from(const onnx::AttributeProto& proto, const GraphBuilder& outer) {
  switch (proto.type()) {
    case onnx::AttributeProto::INT: return Attribute(proto.i());
    case onnx::AttributeProto::FLOAT: return Attribute(static_cast<double>(proto.f()));
    case onnx::AttributeProto::STRING: return Attribute(proto.s());
    case onnx::AttributeProto::INTS: return Attribute(std::vector<int64_t>(proto.ints().begin(), proto.ints().end()));
    case onnx::AttributeProto::FLOATS:
      return Attribute(std::vector<double>(proto.floats().begin(), proto.floats().end()));
    case onnx::AttributeProto::STRINGS:
      return Attribute(std::vector<std::string>(proto.strings().begin(), proto.strings().end()));
    case onnx::AttributeProto::TENSOR: return attribute_from(proto.t());
    case onnx::AttributeProto::GRAPH: return Attribute(subgraph_from(proto.g(), outer));
    default: return std::nullopt;
  }
}

// ---------------------------------------------------------------------------------------------------------- graphs

class GraphBuilder {
 public:
  GraphBuilder(const onnx::GraphProto& proto, const GraphValues& values, const GraphBuilder* outer)
      : proto_(proto), all_values_(values), outer_(outer) {
    graph_.name = proto.name();
    for (const auto& value : proto.value_info()) declared_[value.name()] = &value.type();
    for (const auto& value : proto.output()) declared_[value.name()] = &value.type();
    for (const auto& value : proto.input()) declared_[value.name()] = &value.type();
  }

  Graph make() {
    for (const auto& tensor : proto_.initializer()) add_initialiser(tensor);
    for (const auto& tensor : proto_.sparse_initializer()) add_sparse(tensor);
    for (const auto& input : proto_.input()) add_input(input);
    for (const auto& node : proto_.node()) add_node(node);
    for (const auto& output : proto_.output()) {
      graph_.outputs.push_back(tensor(output.name()));
      const TensorInfo& info = graph_.tensors[static_cast<size_t>(graph_.outputs.back())];
      graph_.output_specs.push_back({info.name, info.type, info.shape.value_or(Shape())});
      graph_.output_symbols.push_back(symbols_of(output));
    }
    find_unbound();
    count_parameters();
    return std::move(graph_);
  }

  const GraphValues& values() const { return all_values_; }

  const TensorInfo* find(const std::string& name) const {
    auto found = indices_.find(name);
    if (found != indices_.end()) return &graph_.tensors[static_cast<size_t>(found->second)];
    return outer_ ? outer_->find(name) : nullptr;
  }

 private:
  // The tensor of that name; one from an outer graph is copied in.
  int tensor(const std::string& name) {
    auto [entry, fresh] = indices_.emplace(name, static_cast<int>(graph_.tensors.size()));
    if (!fresh) return entry->second;
    TensorInfo info;
    info.name = name;
    if (auto type = declared_.find(name); type != declared_.end()) {
      set_type(*type->second, info);
    } else if (const TensorInfo* around = outer_ ? outer_->find(name) : nullptr) {
      info = *around;
    }
    set_constant(info);
    graph_.tensors.push_back(std::move(info));
    return entry->second;
  }

  static void set_type(const onnx::TypeProto& type, TensorInfo& info) {
    if (!type.has_tensor_type()) return;  // sequences, maps and the like have no single shape
    info.type = from_onnx_type(type.tensor_type().elem_type());
    if (!type.tensor_type().has_shape()) return;
    info.shape.emplace();
    for (const auto& dim : type.tensor_type().shape().dim())
      info.shape->push_back(dim.has_dim_value() && dim.dim_value() >= 0 ? dim.dim_value() : -1);
  }

  void set_constant(TensorInfo& info) const {
    auto of_graph = all_values_.find(&proto_);
    if (of_graph == all_values_.end()) return;
    auto found = of_graph->second.find(info.name);
    if (found == of_graph->second.end()) return;
    const SmallTensor& value = found->second;
    if (!is_integer_type(value.onnx_type) || value.elements.size() > kPublishedConstant || !value.known()) return;
    info.constant.emplace();
    for (const auto& element : value.elements) info.constant->push_back(static_cast<int64_t>(*element));
  }

  void add_initialiser(const onnx::TensorProto& proto) {
    TensorInfo& info = graph_.tensors[static_cast<size_t>(tensor(proto.name()))];
    info.role = TensorRole::kWeight;
    info.type = from_onnx_type(proto.data_type());
    info.shape = Shape(proto.dims().begin(), proto.dims().end());
    const int64_t count = element_count(*info.shape).value_or(0);
    weights_[proto.name()] = is_weight_type(proto.data_type()) && count > 1 ? count : 0;
    graph_.weight_bytes += onnx_byte_size(proto.data_type(), count).value_or(0);
  }

  void add_sparse(const onnx::SparseTensorProto& proto) {
    TensorInfo& info = graph_.tensors[static_cast<size_t>(tensor(proto.values().name()))];
    info.role = TensorRole::kWeight;
    info.type = from_onnx_type(proto.values().data_type());
    info.shape = Shape(proto.dims().begin(), proto.dims().end());
    const int64_t stored = proto.values().dims_size() == 1 ? proto.values().dims(0) : 0;
    weights_[proto.values().name()] = stored;
    graph_.weight_bytes += onnx_byte_size(proto.values().data_type(), stored).value_or(0);
  }

  static std::vector<std::string> symbols_of(const onnx::ValueInfoProto& proto) {
    std::vector<std::string> symbols;
    for (const auto& dim : proto.type().tensor_type().shape().dim())
      symbols.push_back(dim.has_dim_param() ? dim.dim_param() : "");
    return symbols;
  }

  void add_input(const onnx::ValueInfoProto& proto) {
    if (weights_.count(proto.name()) > 0) return;  // a default that callers may override
    const int index = tensor(proto.name());
    TensorInfo& info = graph_.tensors[static_cast<size_t>(index)];
    info.role = TensorRole::kInput;
    graph_.inputs.push_back(index);
    GraphInput input{{info.name, info.type, info.shape.value_or(Shape())}, {}};
    input.symbols = symbols_of(proto);
    graph_.input_specs.push_back(std::move(input));
  }

  void add_node(const onnx::NodeProto& proto) {
    Node node;
    node.op = proto.op_type();
    node.domain = proto.domain();
    node.named = !proto.name().empty();
    node.name = node.named ? proto.name() : node.op + "_" + std::to_string(graph_.nodes.size());
    for (const std::string& input : proto.input()) node.inputs.push_back(input.empty() ? -1 : tensor(input));
    for (const auto& attribute : proto.attribute())
      if (std::optional<Attribute> value = attribute_from(attribute, *this))
        node.attributes.emplace(attribute.name(), std::move(*value));
    for (const std::string& output : proto.output()) node.outputs.push_back(output.empty() ? -1 : tensor(output));
    note_filled_weight(node);
    graph_.nodes.push_back(std::move(node));
  }

  // A weight described instead of stored: ConstantOfShape of a stored shape.
  void note_filled_weight(const Node& node) {
    if (node.op != "ConstantOfShape" || node.inputs.size() != 1 || node.inputs[0] < 0 || node.outputs[0] < 0) return;
    if (graph_.tensors[static_cast<size_t>(node.inputs[0])].role != TensorRole::kWeight) return;
    TensorInfo& info = graph_.tensors[static_cast<size_t>(node.outputs[0])];
    const int64_t count = info.shape ? element_count(*info.shape).value_or(0) : 0;
    if (count <= 1 || !is_weight_type(to_onnx_type(info.type))) return;
    info.role = TensorRole::kWeight;
    weights_[info.name] = count;
    graph_.weight_bytes += onnx_byte_size(to_onnx_type(info.type), count).value_or(0);
  }

  void find_unbound() {
    std::set<std::string> symbols;
    for (const GraphInput& input : graph_.input_specs)
      for (const std::string& symbol : input.symbols)
        if (!symbol.empty()) symbols.insert(symbol);
    graph_.unbound.assign(symbols.begin(), symbols.end());
  }

  // Published counts leave out batch normalisation's mean and variance; a resize's factors are not weights.
  static size_t first_non_parameter(const Node& node) {
    if (node.domain.empty() && node.op == "BatchNormalization") return 3;
    if (node.domain.empty() && (node.op == "Resize" || node.op == "Upsample")) return 1;
    return node.inputs.size();
  }

  void count_parameters() {
    for (const Node& node : graph_.nodes)
      for (size_t i = first_non_parameter(node); i < node.inputs.size(); ++i)
        if (node.inputs[i] >= 0) weights_.erase(graph_.tensors[static_cast<size_t>(node.inputs[i])].name);
    for (const Node& node : graph_.nodes)
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (node.inputs[i] < 0) continue;
        const TensorInfo& tensor = graph_.tensors[static_cast<size_t>(node.inputs[i])];
        const auto weight = weights_.find(tensor.name);
        if (weight != weights_.end() && weight->second > 0 && tensor.shape)
          weight->second = values_of(node, i, tensor.type, element_count(*tensor.shape).value_or(0));
      }
    for (const auto& [name, count] : weights_) graph_.parameters += count;
  }

  const onnx::GraphProto& proto_;
  const GraphValues& all_values_;
  const GraphBuilder* outer_;
  Graph graph_;
  std::unordered_map<std::string, int> indices_;
  std::unordered_map<std::string, const onnx::TypeProto*> declared_;
  std::unordered_map<std::string, int64_t> weights_;  // elements that count as parameters
};

std::shared_ptr<const Graph> subgraph_from(const onnx::GraphProto& proto, const GraphBuilder& outer) {
  return std::make_shared<const Graph>(GraphBuilder(proto, outer.values(), &outer).make());
}

}  // namespace

Graph graph_from_onnx(const onnx::ModelProto& model, const GraphValues& values) {
  Graph graph = GraphBuilder(model.graph(), values, nullptr).make();
  graph.producer = model.producer_name();
  for (const auto& import : model.opset_import())
    if (import.domain().empty()) graph.opset = import.version();
  return graph;
}

}  // namespace ridge::model
