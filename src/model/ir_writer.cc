#include "model/ir_writer.h"

#include <onnx/onnx_pb.h>

#include <cstdlib>

#include "base/proc_text.h"

namespace ridge::model {
namespace {

onnx::AttributeProto& attribute(onnx::NodeProto& node, const char* name, onnx::AttributeProto::AttributeType type) {
  onnx::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(type);
  return attribute;
}

}  // namespace

void set(onnx::NodeProto& node, const char* name, int64_t value) {
  attribute(node, name, onnx::AttributeProto::INT).set_i(value);
}
void set(onnx::NodeProto& node, const char* name, double value) {
  attribute(node, name, onnx::AttributeProto::FLOAT).set_f(static_cast<float>(value));
}
void set(onnx::NodeProto& node, const char* name, const std::string& value) {
  attribute(node, name, onnx::AttributeProto::STRING).set_s(value);
}
void set(onnx::NodeProto& node, const char* name, const std::vector<int64_t>& values) {
  onnx::AttributeProto& list = attribute(node, name, onnx::AttributeProto::INTS);
  for (const int64_t value : values) list.add_ints(value);
}

IrWriter::IrWriter(const IrModel& model, const std::map<int, std::vector<int64_t>>& values, onnx::GraphProto& graph)
    : model_(model), values_(values), graph_(graph) {
  for (const IrTensor& tensor : model.tensors) names_.insert(tensor.name);
  for (const IrLayer& layer : model.layers) {
    for (int tensor : layer.outputs) makers_[tensor] = &layer;
    read_.insert(layer.inputs.begin(), layer.inputs.end());
  }
}

void IrWriter::begin(const IrLayer& layer) { layer_ = &layer; }

std::vector<std::string> IrWriter::ins(size_t first, size_t count) const {
  std::vector<std::string> names;
  for (size_t i = first; i < layer_->inputs.size() && i - first < count; ++i) names.push_back(in(i));
  return names;
}

std::vector<std::string> IrWriter::outs() const {
  std::vector<std::string> names;
  for (int tensor : layer_->outputs) names.push_back(name_of(tensor));
  return names;
}

bool IrWriter::is_read(size_t output) const {
  return output < layer_->outputs.size() && read_.contains(layer_->outputs[output]);
}

const IrTensor* IrWriter::tensor(size_t input) const {
  if (input >= layer_->inputs.size() || layer_->inputs[input] < 0) return nullptr;
  return &model_.tensors[static_cast<size_t>(layer_->inputs[input])];
}

std::optional<size_t> IrWriter::rank(size_t input) const {
  const IrTensor* read = tensor(input);
  return read != nullptr && read->shape ? std::optional(read->shape->size()) : std::nullopt;
}

int64_t IrWriter::size(size_t input, size_t dimension) const {
  const IrTensor* read = tensor(input);
  return read != nullptr && read->shape && dimension < read->shape->size() ? (*read->shape)[dimension] : -1;
}

const IrLayer* IrWriter::maker_of(int tensor) const {
  const auto maker = makers_.find(tensor);
  return maker == makers_.end() ? nullptr : maker->second;
}

std::optional<std::vector<int64_t>> IrWriter::values(size_t input) const {
  if (input >= layer_->inputs.size()) return std::nullopt;
  const auto known = values_.find(layer_->inputs[input]);
  return known == values_.end() ? std::nullopt : std::optional(known->second);
}

std::optional<int64_t> IrWriter::value(size_t input) const {
  const auto all = values(input);
  return all && all->size() == 1 ? std::optional(all->front()) : std::nullopt;
}

std::string IrWriter::text(const char* key) const {
  const auto found = layer_->attributes.find(key);
  return found == layer_->attributes.end() ? "" : found->second;
}

std::optional<int64_t> IrWriter::integer(const char* key) const { return to_number(text(key)); }

double IrWriter::number(const char* key, double otherwise) const {
  const std::string value = text(key);
  return value.empty() ? otherwise : std::strtod(value.c_str(), nullptr);
}

std::vector<int64_t> IrWriter::integers(const char* key) const {
  return ir_integers(text(key)).value_or(std::vector<int64_t>());
}

onnx::NodeProto& IrWriter::node(const char* op, const std::vector<std::string>& inputs) {
  return node(op, inputs, {out()});
}

onnx::NodeProto& IrWriter::node(const char* op, const std::vector<std::string>& inputs,
                                const std::vector<std::string>& outputs) {
  onnx::NodeProto& node = *graph_.add_node();
  node.set_name(layer_->name);
  node.set_op_type(op);
  for (const std::string& input : inputs) node.add_input(input);
  for (const std::string& output : outputs) node.add_output(output);
  return node;
}

std::string IrWriter::step(const char* op, const std::vector<std::string>& inputs, onnx::NodeProto** made) {
  const std::string result = fresh(layer_->name + "/" + op);
  onnx::NodeProto& before = node(op, inputs, {result});
  before.set_name(result);
  if (made != nullptr) *made = &before;
  return result;
}

std::string IrWriter::constant(const std::vector<int64_t>& values, bool scalar) {
  onnx::TensorProto& tensor = *graph_.add_initializer();
  tensor.set_name(fresh(layer_->name + "/constant"));
  tensor.set_data_type(onnx::TensorProto::INT64);
  if (!scalar) tensor.add_dims(static_cast<int64_t>(values.size()));
  for (const int64_t value : values) tensor.add_int64_data(value);
  return tensor.name();
}

std::string IrWriter::constant(float value) {
  onnx::TensorProto& tensor = *graph_.add_initializer();
  tensor.set_name(fresh(layer_->name + "/constant"));
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  tensor.add_float_data(value);
  return tensor.name();
}

std::string IrWriter::fresh(const std::string& stem) {
  std::string name = stem;
  for (int number = 2; !names_.insert(name).second; ++number) name = stem + "_" + std::to_string(number);
  return name;
}

}  // namespace ridge::model
