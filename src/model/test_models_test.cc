#include <gtest/gtest.h>
#include <onnx/defs/parser.h>
#include <onnx/onnx_pb.h>

#include "model/test_models.h"

namespace ridge::model {

std::string model_bytes(const std::string& text) {
  onnx::ModelProto model;
  const auto status = onnx::OnnxParser(text.c_str()).Parse(model);
  EXPECT_TRUE(status.IsOK()) << status.ErrorMessage();
  return model.SerializeAsString();
}

std::string graph_bytes(const std::string& body, int opset) {
  return model_bytes("<ir_version: 8, opset_import: [\"\" : " + std::to_string(opset) + "]> g " + body);
}

Result<Graph> read_graph(const std::string& body, const Binding& binding, int opset) {
  return read_bytes(graph_bytes(body, opset), "", binding);
}

const TensorInfo& tensor_named(const Graph& graph, const std::string& name) {
  for (const TensorInfo& tensor : graph.tensors)
    if (tensor.name == name) return tensor;
  static const TensorInfo none;
  ADD_FAILURE() << "no tensor " << name;
  return none;
}

TEST(TestModels, AreWellFormed) { EXPECT_TRUE(read_graph("(float[2] x) => (float[2] y) { y = Relu (x) }").ok()); }

}  // namespace ridge::model
