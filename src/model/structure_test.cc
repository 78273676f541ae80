#include "model/structure.h"

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include "model/reader.h"

namespace ridge::model {
namespace {

// y = Relu(x), x of the given dimensions; a text is a name.
std::string relu_of(const std::vector<std::string>& names) {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  onnx::NodeProto& node = *model.mutable_graph()->add_node();
  node.set_op_type("Relu");
  node.add_input("x");
  node.add_output("y");
  model.mutable_graph()->set_name("g");
  for (auto* value : {model.mutable_graph()->add_input(), model.mutable_graph()->add_output()}) {
    onnx::TypeProto::Tensor& type = *value->mutable_type()->mutable_tensor_type();
    type.set_elem_type(onnx::TensorProto::FLOAT);
    for (const std::string& name : names) type.mutable_shape()->add_dim()->set_dim_param(name);
  }
  model.mutable_graph()->mutable_input(0)->set_name("x");
  model.mutable_graph()->mutable_output(0)->set_name("y");
  return model.SerializeAsString();
}

TEST(Structure, QuestionMarksAreDimensionsWithoutAName) {
  Binding binding;
  binding.shapes["x"] = {2, 48, 192};
  Result<Graph> graph = read_bytes(relu_of({"n", "?", "?"}), ".", binding);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  EXPECT_EQ(graph->output_specs[0].shape, (Shape{2, 48, 192}));

  Result<Graph> open = read_bytes(relu_of({"n", "?", "?"}), ".", {});
  ASSERT_TRUE(open.ok()) << open.error().message;
  EXPECT_EQ(open->unbound, (std::vector<std::string>{"n"}));

  EXPECT_FALSE(read_bytes(relu_of({"n", "m", "m"}), ".", binding).ok());
}

}  // namespace
}  // namespace ridge::model
