// For tests of cost/: nodes and graphs written by hand in one line each.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cost/count_node.h"

namespace ridge::cost::testing {

using Attributes = std::map<std::string, model::Attribute>;

inline Operand tensor(Shape shape, DataType type = DataType::kFp32) {
  return {true, type, std::move(shape), false, {}};
}
inline Operand weight(Shape shape, DataType type = DataType::kFp32) { return {true, type, std::move(shape), true, {}}; }
inline Operand absent() { return {false, DataType::kInvalid, {}, false, {}}; }
inline Operand constant(std::vector<int64_t> values) {
  Shape shape = {static_cast<int64_t>(values.size())};
  return {true, DataType::kInt64, shape, true, std::move(values)};
}

inline NodeWork work(const std::string& op, const std::vector<Operand>& inputs, const std::vector<Operand>& outputs,
                     Attributes attributes = {}, const std::string& domain = "") {
  model::Node node;
  node.name = op;
  node.op = op;
  node.domain = domain;
  node.attributes = std::move(attributes);
  return work_of(node, inputs, outputs);
}

inline NodeCost cost(const std::string& op, const std::vector<Operand>& inputs, const std::vector<Operand>& outputs,
                     Attributes attributes = {}, const std::string& domain = "") {
  return work(op, inputs, outputs, std::move(attributes), domain).cost;
}

inline std::vector<int64_t> ints(std::vector<int64_t> values) { return values; }

// A graph that grows tensor by tensor and node by node; tensors are known by name.
class GraphBuilder {
 public:
  int input(const std::string& name, Shape shape, DataType type = DataType::kFp32) {
    int index = add(name, std::move(shape), type, model::TensorRole::kInput);
    graph_.inputs.push_back(index);
    return index;
  }
  int weight(const std::string& name, Shape shape, DataType type = DataType::kFp32) {
    return add(name, std::move(shape), type, model::TensorRole::kWeight);
  }
  int activation(const std::string& name, Shape shape, DataType type = DataType::kFp32) {
    return add(name, std::move(shape), type, model::TensorRole::kActivation);
  }
  // The node's output.
  int node(const std::string& op, std::vector<int> inputs, Shape shape, Attributes attributes = {},
           DataType type = DataType::kFp32) {
    int output = activation("t" + std::to_string(graph_.tensors.size()), std::move(shape), type);
    graph_.nodes.push_back(
        {op + std::to_string(graph_.nodes.size()), op, "", std::move(inputs), {output}, std::move(attributes)});
    return output;
  }
  model::Graph finish(std::vector<int> outputs) {
    graph_.outputs = std::move(outputs);
    return graph_;
  }

 private:
  int add(const std::string& name, Shape shape, DataType type, model::TensorRole role) {
    graph_.tensors.push_back({name, type, std::move(shape), role, {}});
    return static_cast<int>(graph_.tensors.size()) - 1;
  }
  model::Graph graph_;
};

}  // namespace ridge::cost::testing
