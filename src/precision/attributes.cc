#include "precision/attributes.h"

#include <onnx/onnx_pb.h>

namespace ridge::precision {
namespace {

const onnx::AttributeProto* find(const onnx::NodeProto& node, const std::string& name) {
  for (const onnx::AttributeProto& attribute : node.attribute())
    if (attribute.name() == name) return &attribute;
  return nullptr;
}

onnx::AttributeProto& find_or_add(onnx::NodeProto& node, const std::string& name) {
  for (onnx::AttributeProto& attribute : *node.mutable_attribute())
    if (attribute.name() == name) return attribute;
  onnx::AttributeProto& added = *node.add_attribute();
  added.set_name(name);
  return added;
}

}  // namespace

int64_t integer_attribute(const onnx::NodeProto& node, const std::string& name, int64_t otherwise) {
  const onnx::AttributeProto* found = find(node, name);
  return found ? found->i() : otherwise;
}

float float_attribute(const onnx::NodeProto& node, const std::string& name, float otherwise) {
  const onnx::AttributeProto* found = find(node, name);
  return found ? found->f() : otherwise;
}

std::string string_attribute(const onnx::NodeProto& node, const std::string& name, const std::string& otherwise) {
  const onnx::AttributeProto* found = find(node, name);
  return found ? found->s() : otherwise;
}

void set_integer(onnx::NodeProto& node, const std::string& name, int64_t value) {
  onnx::AttributeProto& attribute = find_or_add(node, name);
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(value);
}

void set_float(onnx::NodeProto& node, const std::string& name, float value) {
  onnx::AttributeProto& attribute = find_or_add(node, name);
  attribute.set_type(onnx::AttributeProto::FLOAT);
  attribute.set_f(value);
}

}  // namespace ridge::precision
