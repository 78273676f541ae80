#include "precision/pass_model.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cassert>
#include <filesystem>

#include "model/graph.h"
#include "model/node_order.h"
#include "model/onnx_types.h"
#include "model/structure.h"
#include "precision/model_writer.h"
#include "precision/opset.h"
#include "precision/tensors.h"

namespace ridge::precision {
namespace {

// Every name mentioned in a body of a loop or branch: some are tensors of the surrounding graph.
void collect_mentions(const onnx::GraphProto& body, std::set<std::string>& names) {
  for (const onnx::NodeProto& node : body.node()) {
    names.insert(node.input().begin(), node.input().end());
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g()) collect_mentions(attribute.g(), names);
      for (const onnx::GraphProto& graph : attribute.graphs()) collect_mentions(graph, names);
    }
  }
  for (const auto& output : body.output()) names.insert(output.name());
}

Wiring wiring_of(const onnx::GraphProto& graph) {
  Wiring wiring;
  for (const auto& output : graph.output()) wiring.outputs.insert(output.name());
  for (int i = 0; i < graph.initializer_size(); ++i) wiring.constants[graph.initializer(i).name()] = i;
  for (int i = 0; i < graph.node_size(); ++i) {
    const onnx::NodeProto& node = graph.node(i);
    for (int slot = 0; slot < node.input_size(); ++slot)
      if (!node.input(slot).empty()) wiring.uses[node.input(slot)].push_back({i, slot});
    for (const std::string& output : node.output())
      if (!output.empty()) wiring.producer[output] = i;
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g()) collect_mentions(attribute.g(), wiring.body_reads);
      for (const onnx::GraphProto& body : attribute.graphs()) collect_mentions(body, wiring.body_reads);
    }
  }
  return wiring;
}

// Initialisers also listed as inputs (required before IR version 4) are defaults that are never fed; as inputs they
// would not be constants for an engine.
void drop_default_inputs(onnx::GraphProto& graph) {
  std::set<std::string> initialisers;
  for (const onnx::TensorProto& tensor : graph.initializer()) initialisers.insert(tensor.name());
  auto& inputs = *graph.mutable_input();
  inputs.erase(std::remove_if(inputs.begin(), inputs.end(),
                              [&](const auto& input) { return initialisers.count(input.name()) > 0; }),
               inputs.end());
}

// Removes the elements of a repeated field for which `unwanted` holds.
template <typename Field, typename Predicate>
void remove_if(Field& field, Predicate&& unwanted) {
  field.erase(std::remove_if(field.begin(), field.end(), unwanted), field.end());
}

}  // namespace

int Wiring::uses_of(const std::string& tensor) const {
  auto found = uses.find(tensor);
  return found == uses.end() ? 0 : static_cast<int>(found->second.size());
}

PassModel::PassModel() : proto_(std::make_unique<onnx::ModelProto>()) {}
PassModel::PassModel(PassModel&& other) noexcept = default;
PassModel::~PassModel() = default;

Result<PassModel> PassModel::open(const model::WholeModel& whole, int64_t least_opset) {
  RIDGE_ASSIGN(model::Graph described, whole.unbound.bind());  // all shapes that can be inferred
  PassModel model;
  *model.proto_ = *whole.proto;
  model.external_data_ = whole.external_data;
  model::normalise(*model.proto_);
  RIDGE_TRY(model::order_nodes(*model.proto_));
  RIDGE_TRY(model::inline_functions(*model.proto_));
  model.name_nodes(described);
  if (model.opset() < least_opset) {
    RIDGE_TRY(raise_opset(*model.proto_, least_opset));
    const std::string folder = std::filesystem::path(whole.path).parent_path().string();
    RIDGE_ASSIGN(described, model::read_bytes(model.proto_->SerializeAsString(), folder));
    RIDGE_TRY(model::order_nodes(*model.proto_));
    model.name_nodes(described);
  }
  drop_default_inputs(model.graph());
  model.note_tensors(described);
  model.rewire();
  return model;
}

// UnboundModel has the same nodes in the same order.
void PassModel::name_nodes(const model::Graph& described) {
  assert(static_cast<int>(described.nodes.size()) == graph().node_size());
  for (size_t i = 0; i < described.nodes.size(); ++i) node(static_cast<int>(i)).set_name(described.nodes[i].name);
}

void PassModel::note_tensors(const model::Graph& described) {
  for (const model::Node& each : described.nodes) names_.insert(each.name);
  for (const model::TensorInfo& tensor : described.tensors) {
    info_[tensor.name] = {tensor.type, tensor.shape};
    names_.insert(tensor.name);
  }
}

onnx::GraphProto& PassModel::graph() { return *proto_->mutable_graph(); }

onnx::NodeProto& PassModel::node(int index) { return *graph().mutable_node(index); }

const onnx::TensorProto* PassModel::constant(const std::string& tensor) const {
  auto found = wiring_.constants.find(tensor);
  return found == wiring_.constants.end() ? nullptr : &proto_->graph().initializer(found->second);
}

void PassModel::rewire() { wiring_ = wiring_of(proto_->graph()); }

Status PassModel::sort() {
  RIDGE_TRY(model::order_nodes(*proto_));
  rewire();
  return {};
}

DataType PassModel::type_of(const std::string& tensor) const {
  auto found = info_.find(tensor);
  return found == info_.end() ? DataType::kInvalid : found->second.type;
}

std::optional<Shape> PassModel::shape_of(const std::string& tensor) const {
  auto found = info_.find(tensor);
  return found == info_.end() ? std::nullopt : found->second.shape;
}

bool PassModel::has(const std::string& tensor) const { return info_.count(tensor) > 0; }

int64_t PassModel::opset() const {
  for (const auto& import : proto_->opset_import())
    if (import.domain().empty()) return import.version();
  return 0;
}

void PassModel::import(const std::string& domain, int64_t version) {
  for (auto& present : *proto_->mutable_opset_import()) {
    if (present.domain() != domain) continue;
    present.set_version(version);
    return;
  }
  auto& added = *proto_->add_opset_import();
  added.set_domain(domain);
  added.set_version(version);
}

std::string PassModel::unused_name(const std::string& wanted) {
  std::string name = wanted;
  for (int i = 1; !names_.insert(name).second; ++i) name = wanted + "_" + std::to_string(i);
  return name;
}

std::string PassModel::add_tensor(const std::string& wanted, DataType type, const Shape& shape) {
  std::string name = unused_name(wanted);
  info_[name] = {type, shape};
  return name;
}

std::string PassModel::add_constant(const std::string& wanted, int32_t type, const Shape& shape, std::string bytes) {
  std::string name = add_tensor(wanted, model::from_onnx_type(type), shape);
  set_values(*graph().add_initializer(), name, type, shape, std::move(bytes));
  return name;
}

onnx::NodeProto& PassModel::add_node(const std::string& op, const std::string& name,
                                     const std::vector<std::string>& inputs, const std::string& output) {
  onnx::NodeProto& added = *graph().add_node();
  added.set_op_type(op);
  added.set_name(unused_name(name));
  for (const std::string& input : inputs) added.add_input(input);
  added.add_output(output);
  return added;
}

void PassModel::remove_nodes(const std::set<int>& indices) {
  int at = 0;
  remove_if(*graph().mutable_node(), [&](const onnx::NodeProto&) { return indices.count(at++) > 0; });
}

void PassModel::remove_constants(const std::set<std::string>& names) {
  remove_if(*graph().mutable_initializer(), [&](const auto& tensor) { return names.count(tensor.name()) > 0; });
}

Result<std::vector<float>> PassModel::values(const onnx::TensorProto& tensor) const {
  return float_values(tensor, *external_data_);
}

void PassModel::remove_unused() {
  std::set<std::string> made;
  for (const onnx::NodeProto& each : graph().node()) made.insert(each.output().begin(), each.output().end());
  remove_if(*graph().mutable_initializer(), [&](const onnx::TensorProto& tensor) {
    return wiring_.uses_of(tensor.name()) == 0 && !wiring_.is_fixed(tensor.name());
  });
  remove_if(*graph().mutable_value_info(), [&](const auto& value) { return made.count(value.name()) == 0; });
}

Result<int64_t> PassModel::write(const std::string& out_file) {
  RIDGE_TRY(complete());
  RIDGE_TRY(check_model(*proto_));
  return write_model(*proto_, *external_data_, out_file);
}

Result<int64_t> PassModel::write_unchecked(const std::string& out_file) {
  RIDGE_TRY(complete());
  return write_model(*proto_, *external_data_, out_file);
}

Status PassModel::complete() {
  rewire();
  remove_unused();
  RIDGE_TRY(model::order_nodes(*proto_));
  proto_->set_producer_name("ridge");
  proto_->clear_producer_version();
  return {};
}

}  // namespace ridge::precision
