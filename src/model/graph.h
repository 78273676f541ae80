// Graph: a model as plain data, read from ONNX with all shapes that could be inferred. The input of cost/, plan/ and
// the reports. It holds no weights, only their shapes and, for small integer constants, their values.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/tensor.h"

namespace ridge::model {

struct Graph;

using Attribute = std::variant<int64_t, double, std::string, std::vector<int64_t>, std::vector<double>,
                               std::vector<std::string>, std::shared_ptr<const Graph>>;

enum class TensorRole { kInput, kWeight, kActivation };

struct TensorInfo {
  std::string name;
  DataType type = DataType::kInvalid;
  std::optional<Shape> shape;  // absent: rank unknown; -1: dimension unknown
  TensorRole role = TensorRole::kActivation;
  std::optional<std::vector<int64_t>> constant;  // values of small (≤ 64 elements) integer or bool constants
};

struct Node {
  std::string name;          // as in the file; if empty there: "<op>_<index>"
  std::string op;            // "Conv"
  std::string domain;        // "" = ai.onnx
  std::vector<int> inputs;   // index into Graph::tensors; -1 = optional input left out
  std::vector<int> outputs;  // likewise
  std::map<std::string, Attribute> attributes;
  bool named = true;  // false: the file gives it no name
};

struct GraphInput {
  TensorSpec spec;  // -1 where symbolic and not bound
  std::vector<std::string>
      symbols;  // per dimension: its symbol in the file, bound or not; "?": open, unnamed; "": sized
};

struct Graph {
  std::string name;
  std::string producer;
  int64_t opset = 0;  // of ai.onnx
  std::vector<TensorInfo> tensors;
  std::vector<Node> nodes;  // topological order
  std::vector<int> inputs;  // index into tensors; without initialisers
  std::vector<int> outputs;
  std::vector<GraphInput> input_specs;                   // parallel to inputs
  std::vector<TensorSpec> output_specs;                  // parallel to outputs
  std::vector<std::vector<std::string>> output_symbols;  // likewise; per dimension its symbol in the file, ""
  std::vector<std::string> unbound;                      // symbols that remain unbound, sorted
  int64_t parameters = 0;    // weight elements (floating-point or quantised initialisers with more than one element)
  int64_t weight_bytes = 0;  // of all initialisers
};

// True if one of the attributes is a graph (If, Loop, Scan).
inline bool has_body(const Node& node) {
  for (const auto& [name, attribute] : node.attributes)
    if (std::holds_alternative<std::shared_ptr<const Graph>>(attribute)) return true;
  return false;
}

// The attribute of that name and type, or `otherwise`.
template <typename T>
T attribute_or(const Node& node, const std::string& name, T otherwise) {
  auto found = node.attributes.find(name);
  if (found == node.attributes.end()) return otherwise;
  const T* value = std::get_if<T>(&found->second);
  return value ? *value : otherwise;
}

}  // namespace ridge::model
