// Describes a model file: its inputs and outputs, parameters, work, and where it comes from. Prints nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/json.h"
#include "base/result.h"
#include "model/reader.h"

namespace ridge::app {

struct ModelDescription {
  struct Tensor {
    std::string name;
    std::string type;   // "FP32"
    std::string shape;  // "[batch,3,224,224]"; "?": open, without a name
  };
  std::string model;  // as given: path, URL or name
  std::string producer;
  bool is_ir = false;  // OpenVINO's IR, read as nodes of ONNX's `opset`
  int64_t opset = 0;
  int64_t nodes = 0;
  int64_t parameters = 0;
  int64_t weight_bytes = 0;
  std::vector<std::string> weight_types;  // those of at least a hundredth of the weights, the most frequent first
  std::vector<Tensor> inputs, outputs;
  // At batch 1. Absent: an open dimension, an unknown size, or no operator that computes has a rule.
  std::optional<double> flops;
  std::vector<std::string> without_rule;  // operators whose FLOPs are not in it
  std::vector<std::string> shapes;  // values of --shape for the dimensions that are open beside the batch: likely ones
};
void visit_fields(auto& visit, Is<ModelDescription::Tensor> auto& tensor) {
  visit("name", tensor.name);
  visit("datatype", tensor.type);
  visit("shape", tensor.shape);
}
void visit_fields(auto& visit, Is<ModelDescription> auto& description) {
  visit("model", description.model);
  visit("producer", description.producer);
  visit("format", std::string(description.is_ir ? "OpenVINO IR" : "ONNX"));
  visit("opset", description.opset);
  visit("nodes", description.nodes);
  visit("params", description.parameters);
  visit("weight_bytes", description.weight_bytes);
  visit("weight_types", description.weight_types);
  visit("inputs", description.inputs);
  visit("outputs", description.outputs);
  visit("flops", description.flops);
  visit("without_rule", description.without_rule);
  visit("shapes", description.shapes);
}

// `binding`: sizes that are given. An error is of those.
Result<ModelDescription> describe(const std::string& given, const model::UnboundModel& model, model::Binding binding);

}  // namespace ridge::app
