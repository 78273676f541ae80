#include "precision/half_forms.h"

#include <onnx/defs/schema.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <set>
#include <string>

namespace ridge::precision {
namespace {

using Parameter = onnx::OpSchema::FormalParameter;

bool has_body(const onnx::NodeProto& node) {
  return std::any_of(node.attribute().begin(), node.attribute().end(),
                     [](const auto& attribute) { return attribute.has_g() || attribute.graphs_size() > 0; });
}

// The parameter that describes this slot; the last one may stand for many.
const Parameter* parameter_of(const std::vector<Parameter>& parameters, size_t slot) {
  if (slot < parameters.size()) return &parameters[slot];
  const bool variadic = !parameters.empty() && parameters.back().GetOption() == onnx::OpSchema::Variadic;
  return variadic ? &parameters.back() : nullptr;
}

class Form {
 public:
  Form(const onnx::OpSchema& schema, Precision precision)
      : schema_(schema), type_(precision == Precision::kFp16 ? "tensor(float16)" : "tensor(bfloat16)") {}

  // An output becomes 16 bits only together with an input of the same type variable.
  std::optional<HalfForm> of(const std::vector<bool>& inputs, const std::vector<bool>& outputs) const {
    const std::set<std::string> taken = types_of(inputs, schema_.inputs());
    std::set<std::string> both;
    for (const std::string& type : types_of(outputs, schema_.outputs()))
      if (taken.count(type) > 0) both.insert(type);
    return both.empty() ? std::nullopt
                        : std::optional(
                              HalfForm{slots(inputs, schema_.inputs(), both), slots(outputs, schema_.outputs(), both)});
  }

 private:
  bool allows(const Parameter& parameter) const {
    const auto& types = parameter.GetTypes();
    return std::any_of(types.begin(), types.end(), [&](const std::string* type) { return *type == type_; });
  }

  // Type variables ("T") that can be 16 bits and are FP32 here.
  std::set<std::string> types_of(const std::vector<bool>& is_fp32, const std::vector<Parameter>& parameters) const {
    std::set<std::string> types;
    for (size_t slot = 0; slot < is_fp32.size(); ++slot) {
      const Parameter* parameter = is_fp32[slot] ? parameter_of(parameters, slot) : nullptr;
      if (parameter && allows(*parameter)) types.insert(parameter->GetTypeStr());
    }
    return types;
  }

  static std::vector<Slot> slots(const std::vector<bool>& is_fp32, const std::vector<Parameter>& parameters,
                                 const std::set<std::string>& halved) {
    std::vector<Slot> found;
    for (size_t slot = 0; slot < is_fp32.size(); ++slot) {
      const Parameter* parameter = parameter_of(parameters, slot);
      const bool half = parameter && halved.count(parameter->GetTypeStr()) > 0;
      found.push_back(!is_fp32[slot] ? Slot::kOther : half ? Slot::kHalf : Slot::kFp32);
    }
    return found;
  }

  const onnx::OpSchema& schema_;
  std::string type_;
};

}  // namespace

std::optional<HalfForm> half_form(const onnx::NodeProto& node, int64_t opset, Precision precision,
                                  const std::vector<bool>& fp32_inputs, const std::vector<bool>& fp32_outputs) {
  if (has_body(node) || !node.domain().empty()) return std::nullopt;
  const onnx::OpSchema* schema = onnx::OpSchemaRegistry::Schema(node.op_type(), static_cast<int>(opset), node.domain());
  if (!schema) return std::nullopt;
  return Form(*schema, precision).of(fp32_inputs, fp32_outputs);
}

}  // namespace ridge::precision
