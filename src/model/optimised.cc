#include "model/optimised.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <memory>
#include <set>
#include <unordered_map>

#include "base/file.h"
#include "model/graph_from_onnx.h"
#include "model/guarded.h"
#include "model/model_file.h"
#include "model/onnx_types.h"
#include "model/structure.h"

namespace ridge::model {
namespace {

using Body = std::shared_ptr<const Graph>;
using TensorsByName = std::unordered_map<std::string, const TensorInfo*>;  // null: several tensors of that name differ

bool all_sized(const std::optional<Shape>& shape) {
  return shape && std::all_of(shape->begin(), shape->end(), [](int64_t size) { return size >= 0; });
}

void add_known(const Graph& graph, TensorsByName& known) {
  for (const TensorInfo& tensor : graph.tensors) {
    if (tensor.name.empty() || !all_sized(tensor.shape)) continue;
    const auto [entry, fresh] = known.emplace(tensor.name, &tensor);
    if (!fresh && entry->second != nullptr && entry->second->shape != tensor.shape) entry->second = nullptr;
  }
  for (const Node& node : graph.nodes)
    for (const auto& [name, attribute] : node.attributes)
      if (const Body* body = std::get_if<Body>(&attribute); body != nullptr && *body) add_known(**body, known);
}

const TensorInfo* find(const TensorsByName& known, const std::string& name) {
  const auto found = known.find(name);
  return found == known.end() ? nullptr : found->second;
}

void complete(Graph& graph, const TensorsByName& known) {
  for (TensorInfo& tensor : graph.tensors) {
    const TensorInfo* source = find(known, tensor.name);
    if (source == nullptr) continue;
    if (tensor.type == DataType::kInvalid) tensor.type = source->type;
    if (!all_sized(tensor.shape)) tensor.shape = source->shape;
    if (!tensor.constant) tensor.constant = source->constant;
  }
  for (Node& node : graph.nodes)
    for (auto& [name, attribute] : node.attributes)
      if (Body* body = std::get_if<Body>(&attribute); body != nullptr && *body) {
        auto completed = std::make_shared<Graph>(**body);
        complete(*completed, known);
        *body = std::move(completed);
      }
}

void update(TensorSpec& spec, const Graph& graph, int tensor) {
  if (const auto& shape = graph.tensors[static_cast<size_t>(tensor)].shape) spec.shape = *shape;
}

// ------------------------------------------------------------------------------------------------- the second file

void set_shape(const Shape& shape, onnx::TypeProto_Tensor& type) {
  type.clear_shape();
  type.mutable_shape();
  for (int64_t size : shape) type.mutable_shape()->add_dim()->set_dim_value(size);
}

void size_input(const TensorInfo* known, onnx::ValueInfoProto& input) {
  if (known != nullptr && input.type().has_tensor_type())
    set_shape(*known->shape, *input.mutable_type()->mutable_tensor_type());
}

// An output keeps its type; symbols give way to sizes.
void size_output(const TensorInfo* known, onnx::ValueInfoProto& output) {
  if (!output.type().has_tensor_type()) return;
  if (known != nullptr)
    set_shape(*known->shape, *output.mutable_type()->mutable_tensor_type());
  else
    output.mutable_type()->mutable_tensor_type()->clear_shape();
}

void mention(const std::string& name, const TensorInfo* known, onnx::GraphProto& graph) {
  onnx::ValueInfoProto& value = *graph.add_value_info();
  value.set_name(name);
  if (known == nullptr || to_onnx_type(known->type) == 0) return;
  onnx::TypeProto_Tensor& type = *value.mutable_type()->mutable_tensor_type();
  type.set_elem_type(to_onnx_type(known->type));
  set_shape(*known->shape, type);
}

void mention_results(const TensorsByName& known, onnx::GraphProto& graph) {
  std::set<std::string> declared;
  for (const auto& input : graph.input()) declared.insert(input.name());
  for (const auto& output : graph.output()) declared.insert(output.name());
  graph.clear_value_info();
  for (onnx::NodeProto& node : *graph.mutable_node()) {
    for (const std::string& name : node.output())
      if (!name.empty() && declared.insert(name).second) mention(name, find(known, name), graph);
    for (onnx::AttributeProto& attribute : *node.mutable_attribute())
      if (attribute.has_g()) mention_results(known, *attribute.mutable_g());
  }
}

// Weights in other files, including bodies', become inputs of the outermost graph, which bodies see by name.
void take_weights_out(onnx::GraphProto& graph, onnx::GraphProto& outermost, std::set<std::string>& inputs) {
  google::protobuf::RepeatedPtrField<onnx::TensorProto> kept;
  for (onnx::TensorProto& tensor : *graph.mutable_initializer()) {
    if (tensor.data_location() != onnx::TensorProto::EXTERNAL) {
      kept.Add()->Swap(&tensor);
      continue;
    }
    if (!inputs.insert(tensor.name()).second) continue;
    onnx::ValueInfoProto& input = *outermost.add_input();
    input.set_name(tensor.name());
    onnx::TypeProto_Tensor& type = *input.mutable_type()->mutable_tensor_type();
    type.set_elem_type(tensor.data_type());
    set_shape(Shape(tensor.dims().begin(), tensor.dims().end()), type);
  }
  graph.mutable_initializer()->Swap(&kept);
  for (onnx::NodeProto& node : *graph.mutable_node())
    for (onnx::AttributeProto& attribute : *node.mutable_attribute())
      if (attribute.has_g()) take_weights_out(*attribute.mutable_g(), outermost, inputs);
}

void make_question(const TensorsByName& known, onnx::GraphProto& graph) {
  std::set<std::string> inputs;
  for (const onnx::ValueInfoProto& input : graph.input()) inputs.insert(input.name());
  take_weights_out(graph, graph, inputs);
  mention_results(known, graph);
}

// The small tensors stored in the file itself.
std::map<std::string, SmallTensor> stored_values(const onnx::GraphProto& graph) {
  std::map<std::string, SmallTensor> values;
  for (const onnx::TensorProto& tensor : graph.initializer())
    if (std::optional<SmallTensor> value = small_tensor_from(tensor)) values.emplace(tensor.name(), std::move(*value));
  return values;
}

}  // namespace

Result<OptimisedModel> OptimisedModel::read(const std::string& path) {
  return guarded("read optimised model " + path, [&]() -> Result<OptimisedModel> {
    auto proto = std::make_shared<onnx::ModelProto>();
    RIDGE_TRY(load(path, *proto));
    normalise(*proto);
    Graph graph = graph_from_onnx(*proto, {{&proto->graph(), stored_values(proto->graph())}});
    return OptimisedModel(std::move(proto), std::move(graph));
  });
}

Result<Graph> read_optimised(const std::string& path) {
  RIDGE_ASSIGN(const OptimisedModel model, OptimisedModel::read(path));
  return model.graph();
}

Result<std::unordered_set<std::string>> read_open_results(const std::string& path) {
  return guarded("read optimised model " + path, [&]() -> Result<std::unordered_set<std::string>> {
    onnx::ModelProto proto;
    RIDGE_TRY(load(path, proto));
    std::unordered_set<std::string> open;
    for (const onnx::ValueInfoProto& value : proto.graph().value_info()) {
      const auto& dims = value.type().tensor_type().shape().dim();
      if (!value.type().tensor_type().has_shape() || std::any_of(dims.begin(), dims.end(), [](const auto& dim) {
            return !dim.has_dim_value() && dim.dim_param().empty();
          }))
        open.insert(value.name());
    }
    return open;
  });
}

void complete_shapes(Graph& graph, const Graph& from) {
  TensorsByName known;
  add_known(from, known);
  complete(graph, known);
  for (size_t i = 0; i < graph.inputs.size(); ++i) update(graph.input_specs[i].spec, graph, graph.inputs[i]);
  for (size_t i = 0; i < graph.outputs.size(); ++i) update(graph.output_specs[i], graph, graph.outputs[i]);
}

bool has_all_shapes(const Graph& graph) {
  return std::all_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
    const bool sized = std::all_of(node.outputs.begin(), node.outputs.end(), [&](int t) {
      return t < 0 || all_sized(graph.tensors[static_cast<size_t>(t)].shape);
    });
    return sized && std::all_of(node.attributes.begin(), node.attributes.end(), [](const auto& entry) {
             const Body* body = std::get_if<Body>(&entry.second);
             return body == nullptr || !*body || has_all_shapes(**body);
           });
  });
}

Status OptimisedModel::write_shape_question(const Graph& bound, const std::string& question) const {
  return guarded("ask for the shapes of an optimised model", [&]() -> Status {
    onnx::ModelProto model = *proto_;
    TensorsByName known;
    add_known(bound, known);
    onnx::GraphProto& graph = *model.mutable_graph();
    for (onnx::ValueInfoProto& input : *graph.mutable_input()) size_input(find(known, input.name()), input);
    for (onnx::ValueInfoProto& output : *graph.mutable_output()) size_output(find(known, output.name()), output);
    make_question(known, graph);
    return write_file_atomically(question, model.SerializeAsString());
  });
}

Status OptimisedModel::write_open_question(const onnx::ModelProto& file, const std::string& question) const {
  return guarded("ask for the open shapes of an optimised model", [&]() -> Status {
    onnx::ModelProto model = *proto_;
    make_question({}, *model.mutable_graph());
    std::unordered_map<std::string_view, const onnx::ValueInfoProto*> declared;
    for (const onnx::ValueInfoProto& value : file.graph().value_info()) declared.emplace(value.name(), &value);
    for (onnx::ValueInfoProto& value : *model.mutable_graph()->mutable_value_info())
      if (const auto found = declared.find(value.name()); found != declared.end()) value = *found->second;
    return write_file_atomically(question, model.SerializeAsString());
  });
}

}  // namespace ridge::model
