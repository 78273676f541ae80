// Attributes of an ONNX node, with the defaults of its operator.
#pragma once

#include <cstdint>
#include <string>

namespace onnx {
class NodeProto;
}

namespace ridge::precision {

int64_t integer_attribute(const onnx::NodeProto& node, const std::string& name, int64_t otherwise);
float float_attribute(const onnx::NodeProto& node, const std::string& name, float otherwise);
std::string string_attribute(const onnx::NodeProto& node, const std::string& name, const std::string& otherwise);

// Replace the attribute, or add it.
void set_integer(onnx::NodeProto& node, const std::string& name, int64_t value);
void set_float(onnx::NodeProto& node, const std::string& name, float value);

}  // namespace ridge::precision
