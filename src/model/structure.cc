#include "model/structure.h"

#include <onnx/checker.h>
#include <onnx/defs/schema.h>
#include <onnx/inliner/inliner.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <exception>
#include <map>
#include <set>
#include <string>

#include "model/model_file.h"

namespace ridge::model {
namespace {

constexpr int64_t kOldestOpset = 7;  // the first with today's broadcasting rules
constexpr int64_t kMostNodes = 1'000'000;

void use_short_domain(std::string& domain) {
  if (domain == "ai.onnx") domain.clear();
}

// The value of a Constant node as a tensor; false for forms without one (sparse).
bool constant_value(onnx::NodeProto& node, onnx::TensorProto& tensor) {
  if (node.attribute_size() != 1) return false;
  onnx::AttributeProto& attribute = *node.mutable_attribute(0);
  if (attribute.name() == "value" && attribute.has_t()) {
    tensor.Swap(attribute.mutable_t());
  } else if (attribute.name() == "value_int") {
    tensor.set_data_type(onnx::TensorProto::INT64);
    tensor.add_int64_data(attribute.i());
  } else if (attribute.name() == "value_float") {
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    tensor.add_float_data(attribute.f());
  } else if (attribute.name() == "value_ints") {
    tensor.set_data_type(onnx::TensorProto::INT64);
    tensor.add_dims(attribute.ints_size());
    for (int64_t value : attribute.ints()) tensor.add_int64_data(value);
  } else if (attribute.name() == "value_floats") {
    tensor.set_data_type(onnx::TensorProto::FLOAT);
    tensor.add_dims(attribute.floats_size());
    for (float value : attribute.floats()) tensor.add_float_data(value);
  } else {
    return false;
  }
  return true;
}

bool is_constant(const onnx::NodeProto& node) {
  return node.op_type() == "Constant" && node.domain().empty() && node.output_size() == 1 && !node.output(0).empty() &&
         node.input_size() == 0;
}

void normalise(onnx::GraphProto& graph);

void normalise(onnx::NodeProto& node) {
  use_short_domain(*node.mutable_domain());
  for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
    if (attribute.has_g()) normalise(*attribute.mutable_g());
    for (onnx::GraphProto& graph : *attribute.mutable_graphs()) normalise(graph);
  }
}

// "?" stands for any size, though by ONNX's rules every dimension of one name has one size: PaddlePaddle's exporter
// uses it for all unknown sizes.
void forget_placeholder(onnx::ValueInfoProto& value) {
  if (!value.type().has_tensor_type() || !value.type().tensor_type().has_shape()) return;
  for (auto& dim : *value.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim())
    if (dim.dim_param() == "?") dim.clear_dim_param();
}

void normalise(onnx::GraphProto& graph) {
  for (auto* values : {graph.mutable_input(), graph.mutable_output(), graph.mutable_value_info()})
    for (onnx::ValueInfoProto& value : *values) forget_placeholder(value);
  google::protobuf::RepeatedPtrField<onnx::NodeProto> kept;
  for (onnx::NodeProto& node : *graph.mutable_node()) {
    normalise(node);
    onnx::TensorProto value;
    if (is_constant(node) && constant_value(node, value)) {
      value.set_name(node.output(0));
      graph.add_initializer()->Swap(&value);
    } else {
      kept.Add()->Swap(&node);
    }
  }
  graph.mutable_node()->Swap(&kept);
}

// ------------------------------------------------------------------------------------------------------- versions

using Imports = std::map<std::string, int64_t>;

template <typename Proto>
Imports imports_of(const Proto& proto) {
  Imports imports;
  for (const auto& import : proto.opset_import()) imports[import.domain()] = import.version();
  return imports;
}

Status check_import(const std::string& domain, int64_t version) {
  const auto& known = onnx::OpSchemaRegistry::DomainToVersionRange::Instance().Map();
  auto range = known.find(domain);
  if (range == known.end()) return {};  // a vendor's domain: no schemas, shapes stay unknown
  const std::string name = domain.empty() ? "opset " : "opset of " + domain + " ";
  if (version > range->second.second)
    return Error{Code::kUnsupported, name + std::to_string(version) + " is newer than " +
                                         std::to_string(range->second.second) +
                                         ", the newest this program knows; export the model with an older one"};
  if (version < (domain.empty() ? kOldestOpset : 1))
    return Error{Code::kUnsupported, name + std::to_string(version) + " is older than " + std::to_string(kOldestOpset) +
                                         ", the oldest this program reads; convert it with onnx.version_converter"};
  return {};
}

// Operators that ONNX withdrew before its first release; its checker accepts them and prints.
bool is_withdrawn(const onnx::NodeProto& node) { return onnx::checker::check_is_experimental_op(node); }

template <typename Nodes>
Status check_domains(const Nodes& nodes, const Imports& imports);

Status check_node_domain(const onnx::NodeProto& node, const Imports& imports) {
  if (imports.find(node.domain()) == imports.end())
    return invalid("node '" + node.name() + "' (" + node.op_type() + ") uses the domain '" +
                   (node.domain().empty() ? "ai.onnx" : node.domain()) + "', which the model does not import");
  if (is_withdrawn(node))
    return Error{Code::kUnsupported, "node '" + node.name() + "' uses the experimental operator " + node.op_type() +
                                         ", which ONNX withdrew"};
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.has_g()) RIDGE_TRY(check_domains(attribute.g().node(), imports));
    for (const onnx::GraphProto& graph : attribute.graphs()) RIDGE_TRY(check_domains(graph.node(), imports));
  }
  return {};
}

template <typename Nodes>
Status check_domains(const Nodes& nodes, const Imports& imports) {
  for (const onnx::NodeProto& node : nodes) RIDGE_TRY(check_node_domain(node, imports));
  return {};
}

}  // namespace

void normalise(onnx::ModelProto& model) {
  for (auto& import : *model.mutable_opset_import()) use_short_domain(*import.mutable_domain());
  normalise(*model.mutable_graph());
  for (onnx::FunctionProto& function : *model.mutable_functions()) {
    for (auto& import : *function.mutable_opset_import()) use_short_domain(*import.mutable_domain());
    for (onnx::NodeProto& node : *function.mutable_node()) normalise(node);
  }
  // Before version 4 every initialiser was also an input; nothing here depends on that.
  if (model.ir_version() == 3) model.set_ir_version(4);
}

Status check_versions(const onnx::ModelProto& model) {
  for (const auto& import : model.opset_import()) RIDGE_TRY(check_import(import.domain(), import.version()));
  RIDGE_TRY(check_domains(model.graph().node(), imports_of(model)));
  for (const onnx::FunctionProto& function : model.functions()) {
    for (const auto& import : function.opset_import()) RIDGE_TRY(check_import(import.domain(), import.version()));
    RIDGE_TRY(check_domains(function.node(), imports_of(function)));
  }
  return {};
}

namespace {

// Inference allocates a vector of num_outputs elements, whatever the file's value.
template <typename Nodes>
Status check_splits(const Nodes& nodes) {
  for (const onnx::NodeProto& node : nodes) {
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (node.op_type() == "Split" && attribute.name() == "num_outputs" && attribute.i() != node.output_size())
        return invalid("not a valid ONNX model: node '" + node.name() + "' (Split) has num_outputs " +
                       std::to_string(attribute.i()) + " and " + std::to_string(node.output_size()) + " outputs");
      if (attribute.has_g()) RIDGE_TRY(check_splits(attribute.g().node()));
    }
  }
  return {};
}

}  // namespace

std::vector<std::string> tensors_without_shape(const onnx::ModelProto& model) {
  std::vector<std::string> names;
  for (const auto* values : {&model.graph().input(), &model.graph().output()})
    for (const onnx::ValueInfoProto& value : *values)
      if (value.type().has_tensor_type() && !value.type().tensor_type().has_shape()) names.push_back(value.name());
  return names;
}

std::vector<std::string> tensors_without_shape(const std::string& path) {
  onnx::ModelProto model;
  return load(path, model) ? tensors_without_shape(model) : std::vector<std::string>();
}

Status check_schemas(const onnx::ModelProto& model) {
  if (const std::vector<std::string> names = tensors_without_shape(model); !names.empty())
    return invalid("the graph's '" + names.front() +
                   "' has no shape, so its number of dimensions is not known; write it into the file with the onnx "
                   "package (value_info.type.tensor_type.shape), or export the model again with it. 'ridge serve' "
                   "takes the file as it is where "
                   "config.pbtxt has dims for it");
  RIDGE_TRY(check_splits(model.graph().node()));
  for (const onnx::FunctionProto& function : model.functions()) RIDGE_TRY(check_splits(function.node()));
  try {
    onnx::checker::check_model(model);
    return {};
  } catch (const std::exception& e) {
    std::string reason = e.what();
    std::replace(reason.begin(), reason.end(), '\n', ' ');
    const bool newer = reason.find("ir_version") != std::string::npos && reason.find("higher") != std::string::npos;
    return invalid("not a valid ONNX model: " + reason + std::string(newer ? kLowerIrVersion : ""));
  }
}

namespace {

// Nodes after inlining, saturating at kMostNodes + 1. Calls cannot be cyclic: the checker rejects that.
class InlinedSize {
 public:
  explicit InlinedSize(const onnx::ModelProto& model) {
    for (const onnx::FunctionProto& function : model.functions())
      functions_[{function.domain(), function.name()}] = &function;
  }

  template <typename Nodes>
  int64_t of(const Nodes& nodes) {
    int64_t total = 0;
    for (const onnx::NodeProto& node : nodes) {
      total += 1 + called(node);
      for (const onnx::AttributeProto& attribute : node.attribute())
        if (attribute.has_g()) total += of(attribute.g().node());
      if (total > kMostNodes) return kMostNodes + 1;
    }
    return total;
  }

 private:
  int64_t called(const onnx::NodeProto& node) {
    auto function = functions_.find({node.domain(), node.op_type()});
    if (function == functions_.end()) return 0;
    if (auto known = sizes_.find(function->second); known != sizes_.end()) return known->second;
    sizes_[function->second] = kMostNodes + 1;  // overloads may share a name and call each other
    const int64_t size = of(function->second->node());
    sizes_[function->second] = size;
    return size;
  }

  std::map<std::pair<std::string, std::string>, const onnx::FunctionProto*> functions_;
  std::map<const onnx::FunctionProto*, int64_t> sizes_;
};

}  // namespace

Status inline_functions(onnx::ModelProto& model) {
  if (model.functions_size() == 0) return {};
  if (InlinedSize(model).of(model.graph().node()) > kMostNodes)
    return Error{Code::kUnsupported,
                 "the model's functions expand to more than " + std::to_string(kMostNodes) + " nodes"};
  try {
    onnx::inliner::InlineLocalFunctions(model);
    // Bodies add Constant nodes and domains of their own.
    normalise(model);
    return {};
  } catch (const std::exception& e) {
    return invalid(std::string("the model's functions cannot be expanded: ") + e.what());
  }
}

}  // namespace ridge::model
