#include "model/inference.h"

#include <onnx/defs/schema.h>
#include <onnx/onnx_pb.h>
#include <onnx/shape_inference/implementation.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "base/log.h"
#include "model/fold.h"
#include "model/type_shapes.h"

namespace ridge::model {
namespace {

namespace si = onnx::shape_inference;

constexpr size_t kLongestShape = 64;        // values passed to ONNX as the contents of a shape
constexpr Number kEndless = 2147483648.0L;  // from this trip count on, only the condition ends a loop; cost/trips.cc

// ONNX's inference functions read the types of inputs without checking that there is one (TreeEnsemble of version 5),
// so every value of a subgraph gets one, empty if nothing is known.
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

// Goes through the nodes of a graph in order; the graphs inside a node see the values known around them.
class Inference {
 public:
  Inference(onnx::ModelProto& model, DataSizes sizes)
      : opsets_(opsets_of(model)),
        sizes_(sizes),
        context_(types_, opsets_, &symbols_, {}, onnx::OpSchemaRegistry::Instance(), &partial_, model.ir_version()) {}

  GraphValues run(onnx::GraphProto& graph) {
    symbols_.addFromGraph(graph);
    enter(graph);
    walk();
    known_[graph_] = std::move(values_);
    if (failures_ > 1) log::debug("shape inference failed at {} nodes in all", failures_);
    return std::move(known_);
  }

 private:
  static constexpr int kPasses = 4;   // over the body of a loop, until its outputs have the shape of its inputs
  static constexpr int kDeepest = 3;  // nested loops; deeper ones are left to ONNX's own inference

  static std::unordered_map<std::string, int> opsets_of(const onnx::ModelProto& model) {
    std::unordered_map<std::string, int> opsets;
    for (const auto& import : model.opset_import()) opsets[import.domain()] = static_cast<int>(import.version());
    return opsets;
  }

  // Makes a graph's declarations visible.
  void enter(onnx::GraphProto& graph) {
    graph_ = &graph;
    for (auto& value : *graph.mutable_value_info()) see(value.name(), value.mutable_type());
    for (auto& value : *graph.mutable_input()) see(value.name(), value.mutable_type());
    for (auto& tensor : *graph.mutable_initializer()) add_initialiser(tensor);
    for (auto& output : *graph.mutable_output())
      if (types_.count(output.name()) == 0) *type_of(output.name()) = output.type();
    for (onnx::NodeProto& node : *graph.mutable_node()) {
      for (const std::string& output : node.output())
        if (!output.empty()) type_of(output);  // as declare_all() does in subgraphs
      for (onnx::AttributeProto& attribute : *node.mutable_attribute())
        if (attribute.has_g()) declare_all(*attribute.mutable_g());
    }
  }

  void walk() {
    for (onnx::NodeProto& node : *graph_->mutable_node()) {
      infer_types(node);
      fold_values(node);
      infer_bodies(node);
    }
    for (auto& output : *graph_->mutable_output()) *output.mutable_type() = *type_of(output.name());
  }

  void see(const std::string& name, onnx::TypeProto* type) {
    types_[name] = type;
    scope_.push_back(name);
  }

  onnx::TypeProto* type_of(const std::string& name) {
    auto known = types_.find(name);
    if (known != types_.end()) return known->second;
    onnx::ValueInfoProto* value = graph_->add_value_info();
    value->set_name(name);
    see(name, value->mutable_type());
    return value->mutable_type();
  }

  void add_initialiser(const onnx::TensorProto& tensor) {
    onnx::TypeProto type;
    type.mutable_tensor_type()->set_elem_type(tensor.data_type());
    auto& shape = *type.mutable_tensor_type()->mutable_shape();
    for (int64_t size : tensor.dims()) shape.add_dim()->set_dim_value(size);
    *type_of(tensor.name()) = std::move(type);
    if (std::optional<SmallTensor> value = small_tensor_from(tensor)) {
      data_[tensor.name()] = &tensor;
      values_[tensor.name()] = std::move(*value);
    }
  }

  // ---------------------------------------------------------------------------------------------- graphs inside nodes

  void infer_bodies(onnx::NodeProto& node) {
    const bool loops = node.op_type() == "Loop" || node.op_type() == "Scan";
    if (!node.domain().empty() || (!loops && node.op_type() != "If") || depth_ >= kDeepest) return;
    for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
      if (!attribute.has_g()) continue;
      if (loops)
        infer_loop(node, *attribute.mutable_g());
      else
        walk_inside(*attribute.mutable_g());
    }
    if (node.op_type() == "If") take_branches(node);
  }

  // Values known inside are forgotten outside, except for `known_`.
  void walk_inside(onnx::GraphProto& body) {
    onnx::GraphProto* around = graph_;
    std::vector<std::string> scope;
    scope.swap(scope_);
    ++depth_;
    enter(body);
    walk();
    --depth_;
    std::map<std::string, SmallTensor>& values = known_[&body];
    values.clear();
    for (const std::string& name : scope_) {
      types_.erase(name);
      data_.erase(name);
      partial_.erase(name);
      values.insert(values_.extract(name));
    }
    scope_.swap(scope);
    graph_ = around;
  }

  // Outputs of If left open by ONNX: from the side chosen by a known condition, else the common part of both sides.
  void take_branches(onnx::NodeProto& node) {
    auto condition = values_.find(node.input_size() > 0 ? node.input(0) : "");
    std::string chosen;
    if (condition != values_.end() && condition->second.known() && condition->second.elements.size() == 1)
      chosen = *condition->second.elements[0] != 0 ? "then_branch" : "else_branch";
    std::vector<const onnx::GraphProto*> sides;
    for (const onnx::AttributeProto& attribute : node.attribute())
      if (attribute.has_g() && (chosen.empty() || attribute.name() == chosen)) sides.push_back(&attribute.g());
    for (int i = 0; i < node.output_size(); ++i) {
      if (node.output(i).empty() || sides.empty() || i >= sides[0]->output_size()) continue;
      onnx::TypeProto type = sides[0]->output(i).type();
      if (sides.size() > 1 && i < sides[1]->output_size()) keep_common(sides[1]->output(i).type(), type);
      if (shape_of(type) != nullptr) merge(type, *type_of(node.output(i)));
    }
  }

  // A loop passes its values from iteration to iteration. They are assumed to keep their initial shape, until the body
  // contradicts; then changing dimensions are open.
  void infer_loop(onnx::NodeProto& node, onnx::GraphProto& body) {
    const bool scan = node.op_type() == "Scan";
    const int first = scan ? 0 : 2;         // first carried input of the body
    const int first_output = scan ? 0 : 1;  // and its output
    const int carried = carried_count(node, body, scan);
    if (carried < 0) return;
    const auto declared_values = body.value_info();
    const auto declared_outputs = body.output();
    std::vector<onnx::TypeProto> start = entry_types(node, body, scan, carried);
    for (int pass = 0; pass < kPasses; ++pass) {
      *body.mutable_value_info() = declared_values;
      *body.mutable_output() = declared_outputs;
      for (int i = 0; i < body.input_size(); ++i)
        *body.mutable_input(i)->mutable_type() = start[static_cast<size_t>(i)];
      walk_inside(body);
      bool settled = true;
      for (int k = 0; k < carried; ++k)
        settled = keep_common(body.output(first_output + k).type(), start[static_cast<size_t>(first + k)]) && settled;
      if (settled) break;
      if (pass + 2 == kPasses)
        for (int k = 0; k < carried; ++k)
          if (auto& type = start[static_cast<size_t>(first + k)]; type.has_tensor_type())
            type.mutable_tensor_type()->clear_shape();
    }
    for (int k = 0; k < carried; ++k)
      *body.mutable_output(first_output + k)->mutable_type() = start[static_cast<size_t>(first + k)];
    give_results(node, body, scan, carried);
  }

  static int carried_count(const onnx::NodeProto& node, const onnx::GraphProto& body, bool scan) {
    int scanned = 0;
    for (const onnx::AttributeProto& attribute : node.attribute())
      if (attribute.name() == "num_scan_inputs")
        scanned = static_cast<int>(std::clamp<int64_t>(attribute.i(), 0, 1 << 20));
    const int carried = scan ? body.input_size() - scanned : body.input_size() - 2;
    const int outputs = scan ? carried : carried + 1;
    const bool fits = node.input_size() == body.input_size() && carried >= 0 && body.output_size() >= outputs;
    return fits ? carried : -1;
  }

  // Types of the body's inputs in the first iteration.
  std::vector<onnx::TypeProto> entry_types(const onnx::NodeProto& node, const onnx::GraphProto& body, bool scan,
                                           int carried) {
    std::vector<onnx::TypeProto> types;
    for (int i = 0; i < body.input_size(); ++i) {
      onnx::TypeProto type = body.input(i).type();
      auto given = types_.find(node.input(i));
      if (given == types_.end() || node.input(i).empty() || !given->second->has_tensor_type()) {
        types.push_back(std::move(type));
        continue;
      }
      onnx::TypeProto outside = *given->second;
      const bool sliced = scan && i >= carried;
      if (!scan && i < 2) outside.mutable_tensor_type()->mutable_shape()->clear_dim();  // iteration number, condition
      if (sliced && outside.tensor_type().has_shape()) take_slice(node, i - carried, outside);
      merge(outside, type);
      types.push_back(std::move(type));
    }
    return types;
  }

  // The output after the last iteration, and scan outputs: of these the size per iteration is certain, and the trip
  // count if known.
  void give_results(const onnx::NodeProto& node, const onnx::GraphProto& body, bool scan, int carried) {
    const int first_output = scan ? 0 : 1;
    const int64_t turns = scan ? -1 : turns_of(node);
    for (int i = 0; i < node.output_size() && first_output + i < body.output_size(); ++i) {
      if (node.output(i).empty()) continue;
      onnx::TypeProto type = body.output(first_output + i).type();
      if (shape_of(type) == nullptr) continue;
      if (i >= carried) {
        if (scan) continue;  // ONNX's own inference knows them
        auto& dims = *type.mutable_tensor_type()->mutable_shape()->mutable_dim();
        dims.Add();
        for (int d = dims.size() - 1; d > 0; --d) dims.SwapElements(d, d - 1);
        if (turns >= 0) dims[0].set_dim_value(turns);
      }
      merge(type, *type_of(node.output(i)));
    }
  }

  // A Loop's trip count, known if it is a constant and no condition changes inside.
  int64_t turns_of(const onnx::NodeProto& node) const {
    auto limit = values_.find(node.input(0));
    if (limit == values_.end() || !limit->second.known() || limit->second.elements.size() != 1) return -1;
    const Number turns = *limit->second.elements[0];
    const bool conditional = node.input_size() > 1 && !node.input(1).empty();
    if (turns < 0 || turns >= kEndless || (conditional && sizes_ == DataSizes::kUnknown)) return -1;
    return static_cast<int64_t>(turns);
  }

  // --------------------------------------------------------------------------------------------------------- one node

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
      if (sizes_ == DataSizes::kAtMost) complete_sizes(node);
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

  void complete_sizes(const onnx::NodeProto& node) {
    std::vector<std::optional<Shape>> shapes;
    for (const std::string& input : node.input()) {
      auto type = types_.find(input);
      const onnx::TensorShapeProto* shape = type == types_.end() ? nullptr : shape_of(*type->second);
      shapes.push_back(shape != nullptr ? std::optional<Shape>(to_shape(*shape)) : std::nullopt);
    }
    auto limit = values_.find(node.input_size() > 2 ? node.input(2) : "");
    const Shape most = most_of(node, shapes, limit == values_.end() ? nullptr : &limit->second);
    for (const std::string& output : node.output()) {
      if (output.empty() || most.empty()) continue;
      auto& shape = *type_of(output)->mutable_tensor_type()->mutable_shape();
      if (shape.dim_size() == 0)
        for (size_t i = 0; i < most.size(); ++i) shape.add_dim();
      if (shape.dim_size() != static_cast<int>(most.size())) continue;
      for (int i = 0; i < shape.dim_size(); ++i)
        if (!shape.dim(i).has_dim_value()) shape.mutable_dim(i)->set_dim_value(most[static_cast<size_t>(i)]);
    }
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

  // Passes a value to the inference of the following nodes: as a tensor when all of it is known, else as a shape.
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

  std::unordered_map<std::string, int> opsets_;
  DataSizes sizes_;
  onnx::GraphProto* graph_ = nullptr;  // the innermost currently visited
  std::vector<std::string> scope_;     // names that it declares
  int depth_ = 0;
  si::SymbolTableImpl symbols_;
  std::unordered_map<std::string, onnx::TypeProto*> types_;         // in graph_ or around it
  std::unordered_map<std::string, const onnx::TensorProto*> data_;  // in the graph or in owned_
  std::vector<std::unique_ptr<onnx::TensorProto>> owned_;
  si::DataValueMap partial_;
  std::map<std::string, SmallTensor> values_;
  GraphValues known_;
  si::GraphInferenceContext context_;
  int failures_ = 0;
};

}  // namespace

GraphValues infer(onnx::ModelProto& model, DataSizes sizes) {
  return Inference(model, sizes).run(*model.mutable_graph());
}

}  // namespace ridge::model
