#include "engine/openvino/plugin/signature.h"

#include <openvino/op/parameter.hpp>
#include <openvino/op/result.hpp>
#include <unordered_set>

#include "engine/openvino/plugin/tensor_type.h"

namespace ridge::engine::openvino::plugin {
namespace {

// A tensor may have several names, one of them the model's for this input or output: the operator has the same name.
std::string name_of(const std::unordered_set<std::string>& names, std::string friendly) {
  if (names.contains(friendly)) return friendly;
  friendly = friendly.substr(0, friendly.rfind("/sink_port_"));  // the ONNX reader's names of results
  if (names.contains(friendly) || names.empty()) return friendly;
  return *names.begin();
}

Result<TensorSpec> spec_of(const char* role, std::string name, const ov::element::Type& type,
                           const ov::PartialShape& shape) {
  TensorSpec spec{std::move(name), to_data_type(type), to_shape(shape)};
  if (spec.type != DataType::kInvalid) return spec;
  const std::string where = std::string("the model's ") + role + " '" + spec.name + "' ";
  return Error{Code::kUnsupported,
               where + "is of OpenVINO's type " + type.get_type_name() +
                   ", which ridge cannot pass to it; cast it in the model, or use the engine onnxruntime"};
}

}  // namespace

Result<Signature> read_signature(const ov::Model& model) {
  Signature signature;
  for (const auto& parameter : model.get_parameters()) {
    RIDGE_ASSIGN(TensorSpec spec,
                 spec_of("input", name_of(parameter->output(0).get_names(), parameter->get_friendly_name()),
                         parameter->get_element_type(), parameter->get_partial_shape()));
    signature.inputs.push_back(std::move(spec));
  }
  for (const auto& result : model.get_results()) {
    RIDGE_ASSIGN(TensorSpec spec, spec_of("output", name_of(result->output(0).get_names(), result->get_friendly_name()),
                                          result->get_output_element_type(0), result->get_output_partial_shape(0)));
    signature.outputs.push_back(std::move(spec));
  }
  return signature;
}

}  // namespace ridge::engine::openvino::plugin
