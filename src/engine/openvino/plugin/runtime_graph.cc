#include "engine/openvino/plugin/runtime_graph.h"

#include <memory>
#include <openvino/core/model.hpp>
#include <openvino/core/node.hpp>
#include <string>

#include "engine/openvino/plugin/tensor_type.h"
#include "engine/openvino/profile.h"

namespace ridge::engine::openvino::plugin {
namespace {

// Keys of the runtime graph's attributes: "Runtime model" in OpenVINO's documentation of compiled models.
std::string attribute(const ov::Node& node, const char* key) {
  const auto& attributes = node.get_rt_info();
  const auto found = attributes.find(key);
  return found == attributes.end() ? "" : found->second.as<std::string>();
}

bool computes(const std::string& type) { return type != "Const" && type != "Input" && type != "Output"; }

std::pair<DataType, Shape> operand(const ov::element::Type& type, const ov::PartialShape& shape) {
  return {to_data_type(type), to_shape(shape)};
}

NodeTime describe(const ov::Node& node, const std::string& type) {
  NodeTime described;
  described.name = node.get_friendly_name();
  described.op = type;
  described.provider = attribute(node, "primitiveType");
  for (size_t i = 0; i < node.get_input_size(); ++i)
    described.inputs.push_back(operand(node.get_input_element_type(i), node.get_input_partial_shape(i)));
  for (size_t i = 0; i < node.get_output_size(); ++i)
    described.outputs.push_back(operand(node.get_output_element_type(i), node.get_output_partial_shape(i)));
  described.sources = source_nodes(attribute(node, "originalLayersNames"));
  described.multiplies = multiplies(type);
  return described;
}

}  // namespace

std::vector<ExecutedLayer> executed_layers(const ov::CompiledModel& model) {
  std::vector<ExecutedLayer> layers;
  for (const std::shared_ptr<ov::Node>& node : model.get_runtime_model()->get_ordered_ops()) {
    std::string type = attribute(*node, "layerType");
    if (!computes(type)) continue;
    layers.push_back({node->get_friendly_name(), std::move(type), attribute(*node, "runtimePrecision"),
                      attribute(*node, "primitiveType")});
  }
  return layers;
}

std::vector<NodeTime> described_layers(const ov::CompiledModel& model) {
  std::vector<NodeTime> layers;
  for (const std::shared_ptr<ov::Node>& node : model.get_runtime_model()->get_ordered_ops()) {
    const std::string type = attribute(*node, "layerType");
    if (computes(type)) layers.push_back(describe(*node, type));
  }
  return layers;
}

}  // namespace ridge::engine::openvino::plugin
