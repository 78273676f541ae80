#include "model/inference.h"

#include <onnx/defs/schema.h>
#include <onnx/onnx_pb.h>
#include <onnx/shape_inference/implementation.h>

#include <exception>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "base/log.h"
#include "model/fold.h"

namespace ridge::model {
namespace {

namespace si = onnx::shape_inference;

constexpr size_t kLongestShape = 64;  // values offered to ONNX as the contents of a shape

const onnx::TensorShapeProto* shape_of(const onnx::TypeProto& type) {
  return type.has_tensor_type() && type.tensor_type().has_shape() ? &type.tensor_type().shape() : nullptr;
}

Shape to_shape(const onnx::TensorShapeProto& proto) {
  Shape shape;
  for (const auto& dim : proto.dim())
    shape.push_back(dim.has_dim_value() && dim.dim_value() >= 0 ? dim.dim_value() : -1);
  return shape;
}

// `inferred` wins over `known` (which the file may have wrong); `known` fills what was not inferred.
void merge(const onnx::TypeProto& inferred, onnx::TypeProto& known) {
  const onnx::TensorShapeProto* from_file = shape_of(known);
  const onnx::TensorShapeProto* found = shape_of(inferred);
  onnx::TypeProto merged = inferred.value_case() == onnx::TypeProto::VALUE_NOT_SET ? known : inferred;
  if (merged.has_tensor_type() && known.has_tensor_type()) {
    auto& tensor = *merged.mutable_tensor_type();
    if (tensor.elem_type() == 0) tensor.set_elem_type(known.tensor_type().elem_type());
    if (found == nullptr && from_file != nullptr) *tensor.mutable_shape() = *from_file;
    if (found != nullptr && from_file != nullptr && found->dim_size() == from_file->dim_size())
      for (int i = 0; i < found->dim_size(); ++i)
        if (!found->dim(i).has_dim_value()) *tensor.mutable_shape()->mutable_dim(i) = from_file->dim(i);
  }
  known.Swap(&merged);
}

// Inference functions of ONNX read the types of inputs without asking whether there is one (TreeEnsemble of version 5), so
// every value of a subgraph gets one, empty where nothing is known.
void declare_all(onnx::GraphProto& graph) {
  std::unordered_set<std::string> declared;
  for (auto* values : {graph.mutable_input(), graph.mutable_output(), graph.mutable_value_info()}) {
    for (auto& value : *values) {
      value.mutable_type();
      declared.insert(value.name());
    }
  }
  for (onnx::NodeProto& node : *graph.mutable_node()) {
    for (const std::string& output : node.output()) {
      if (output.empty() || !declared.insert(output).second) continue;
      onnx::ValueInfoProto& value = *graph.add_value_info();
      value.set_name(output);
      value.mutable_type();
    }
    for (onnx::AttributeProto& attribute : *node.mutable_attribute())
      if (attribute.has_g()) declare_all(*attribute.mutable_g());
  }
}

class Inference {
 public:
  explicit Inference(onnx::ModelProto& model)
      : graph_(*model.mutable_graph()),
        opsets_(opsets_of(model)),
        context_(types_, opsets_, &symbols_, {}, onnx::OpSchemaRegistry::Instance(), &partial_, model.ir_version()) {
    symbols_.addFromGraph(graph_);
    for (auto& value : *graph_.mutable_value_info()) types_[value.name()] = value.mutable_type();
    for (auto& value : *graph_.mutable_input()) types_[value.name()] = value.mutable_type();
    for (auto& tensor : *graph_.mutable_initializer()) add_initialiser(tensor);
    for (auto& output : *graph_.mutable_output())
      if (types_.count(output.name()) == 0) *type_of(output.name()) = output.type();
    for (onnx::NodeProto& node : *graph_.mutable_node()) {
      for (const std::string& output : node.output())
        if (!output.empty()) type_of(output);  // as declare_all() does in subgraphs
      for (onnx::AttributeProto& attribute : *node.mutable_attribute())
        if (attribute.has_g()) declare_all(*attribute.mutable_g());
    }
  }

  std::map<std::string, SmallTensor> run() {
    for (onnx::NodeProto& node : *graph_.mutable_node()) {
      infer_types(node);
      fold_values(node);
    }
    for (auto& output : *graph_.mutable_output()) *output.mutable_type() = *type_of(output.name());
    if (failures_ > 1) log::debug("shape inference failed at {} nodes in all", failures_);
    return std::move(values_);
  }

 private:
  static std::unordered_map<std::string, int> opsets_of(const onnx::ModelProto& model) {
    std::unordered_map<std::string, int> opsets;
    for (const auto& import : model.opset_import()) opsets[import.domain()] = static_cast<int>(import.version());
    return opsets;
  }

  onnx::TypeProto* type_of(const std::string& name) {
    auto known = types_.find(name);
    if (known != types_.end()) return known->second;
    onnx::ValueInfoProto* value = graph_.add_value_info();
    value->set_name(name);
    return types_[name] = value->mutable_type();
  }

  void add_initialiser(const onnx::TensorProto& tensor) {
    onnx::TypeProto type;
    type.mutable_tensor_type()->set_elem_type(tensor.data_type());
    auto& shape = *type.mutable_tensor_type()->mutable_shape();
    for (int64_t size : tensor.dims()) shape.add_dim()->set_dim_value(size);
    *type_of(tensor.name()) = type;
    if (std::optional<SmallTensor> value = small_tensor_from(tensor)) {
      data_[tensor.name()] = &tensor;
      values_[tensor.name()] = std::move(*value);
    }
  }

  void infer_types(onnx::NodeProto& node) {
    auto opset = opsets_.find(node.domain());
    if (opset == opsets_.end()) return;
    const onnx::OpSchema* schema =
        onnx::OpSchemaRegistry::Instance()->GetSchema(node.op_type(), opset->second, node.domain());
    if (schema == nullptr) return;  // a vendor's operator
    try {
      const onnx::ShapeInferenceOptions options(false, 0, false);
      si::InferenceContextImpl context(node, types_, data_, {}, options, &partial_, &context_);
      if (schema->has_type_and_shape_inference_function()) {
        schema->GetTypeAndShapeInferenceFunction()(context);
      } else if (schema->HasFunction()) {
        si::InferShapeForFunctionNode(*schema->GetFunction(), onnx::OpSchemaRegistry::Instance(), context, options, {},
                                      &symbols_);
      }
      for (int i = 0; i < node.output_size(); ++i)
        if (!node.output(i).empty()) merge(*context.getOutputType(static_cast<size_t>(i)), *type_of(node.output(i)));
      complete_dropout(node);
    } catch (const std::exception& e) {
      if (++failures_ == 1)
        log::warning("the shapes after node '{}' ({}) cannot be inferred: {}", node.name(), node.op_type(), e.what());
    }
  }

  // ONNX's inference before opset 12 leaves the mask of Dropout out; it has the shape and type of the data.
  void complete_dropout(const onnx::NodeProto& node) {
    if (node.op_type() != "Dropout" || node.output_size() < 2 || node.output(1).empty()) return;
    onnx::TypeProto& mask = *type_of(node.output(1));
    if (shape_of(mask) == nullptr) merge(*type_of(node.output(0)), mask);
  }

  void fold_values(const onnx::NodeProto& node) {
    std::vector<Shape> shapes(static_cast<size_t>(node.input_size()));
    std::vector<FoldInput> inputs(shapes.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      const std::string& name = node.input(static_cast<int>(i));
      if (auto value = values_.find(name); value != values_.end()) inputs[i].value = &value->second;
      auto type = types_.find(name);
      if (type == types_.end() || shape_of(*type->second) == nullptr) continue;
      shapes[i] = to_shape(*shape_of(*type->second));
      inputs[i].shape = &shapes[i];
    }
    const onnx::TypeProto* out = node.output_size() > 0 ? type_of(node.output(0)) : nullptr;
    std::optional<Shape> out_shape;
    if (out != nullptr && shape_of(*out) != nullptr) out_shape = to_shape(*shape_of(*out));
    std::vector<std::optional<SmallTensor>> folded =
        fold(node, inputs, out_shape ? &*out_shape : nullptr, out != nullptr ? out->tensor_type().elem_type() : 0);
    for (size_t i = 0; i < folded.size(); ++i)
      if (folded[i]) keep(node.output(static_cast<int>(i)), std::move(*folded[i]));
  }

  // Offers a value to the inference of the nodes that follow: as a tensor when all of it is known, else as a shape.
  void keep(const std::string& name, SmallTensor value) {
    if (value.known()) {
      auto tensor = std::make_unique<onnx::TensorProto>();
      tensor->set_name(name);
      to_onnx(value, *tensor);
      data_[name] = tensor.get();
      owned_.push_back(std::move(tensor));
    } else if (is_integer_type(value.onnx_type) && value.shape.size() <= 1 && value.elements.size() <= kLongestShape) {
      onnx::TensorShapeProto& shape = partial_[name];
      for (const auto& element : value.elements) {
        auto* dim = shape.add_dim();
        if (element) dim->set_dim_value(static_cast<int64_t>(*element));
      }
    }
    values_[name] = std::move(value);
  }

  onnx::GraphProto& graph_;
  std::unordered_map<std::string, int> opsets_;
  si::SymbolTableImpl symbols_;
  std::unordered_map<std::string, onnx::TypeProto*> types_;         // in the graph
  std::unordered_map<std::string, const onnx::TensorProto*> data_;  // in the graph or in owned_
  std::vector<std::unique_ptr<onnx::TensorProto>> owned_;
  si::DataValueMap partial_;
  std::map<std::string, SmallTensor> values_;
  si::GraphInferenceContext context_;
  int failures_ = 0;
};

}  // namespace

std::map<std::string, SmallTensor> infer(onnx::ModelProto& model) { return Inference(model).run(); }

}  // namespace ridge::model
