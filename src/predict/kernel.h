// Kernel: one node as an engine runs it, with the types and shapes of its operands. Calibration times kernels, planning
// predicts their times; a kernel needs no graph around it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "cost/count_node.h"
#include "model/graph.h"

namespace ridge::predict {

struct Kernel {
  std::string name;
  std::string op;
  std::string domain;  // "" = ai.onnx; "com.microsoft", "com.microsoft.nchwc"
  std::map<std::string, model::Attribute> attributes;
  std::vector<cost::Operand> inputs;  // in the order of the operator's schema
  std::vector<cost::Operand> outputs;
};

// Same as of a node (model/graph.h).
template <typename T>
T attribute_or(const Kernel& kernel, const std::string& name, const T& otherwise) {
  const auto found = kernel.attributes.find(name);
  const T* value = found == kernel.attributes.end() ? nullptr : std::get_if<T>(&found->second);
  return value ? *value : otherwise;
}

// The kernels of a graph whose shapes are known, in its order.
std::vector<Kernel> kernels_of(const model::Graph& graph);

// Bytes of an operand as stored, 0 if absent or unknown.
double operand_bytes(const cost::Operand& operand);
// Elements, 0 likewise.
double operand_elements(const cost::Operand& operand);

// {"op", "domain", "attributes", "inputs": ["FP32[1,3,224,224]", "FP32[64,3,7,7] weight", ""], "outputs"}; attributes that
// hold graphs are left out, values of constants and the name too.
Json to_json(const Kernel& kernel);
Status read_json(const Json& json, Kernel& kernel);

}  // namespace ridge::predict
