#include "model/inlined_file.h"

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <filesystem>

#include "base/file.h"
#include "model/external_files.h"
#include "model/model_file.h"

namespace ridge::model {
namespace {

namespace fs = std::filesystem;

// y = Twice(x) + w, w in the file `location`; the function only where it is asked for.
std::string written(const std::string& folder, const std::string& location, bool function) {
  onnx::ModelProto model;
  model.set_ir_version(8);
  auto* opset = model.add_opset_import();
  opset->set_version(17);
  auto node = [&](auto& graph, const char* op, const char* a, const char* b, const char* out) {
    auto* added = graph.add_node();
    added->set_op_type(op);
    added->add_input(a);
    if (b != nullptr) added->add_input(b);
    added->add_output(out);
    return added;
  };
  auto& graph = *model.mutable_graph();
  graph.set_name("g");
  if (function) {
    auto* own = model.add_opset_import();
    own->set_domain("own");
    own->set_version(1);
    node(graph, "Twice", "x", nullptr, "t")->set_domain("own");
    auto* twice = model.add_functions();
    twice->set_name("Twice");
    twice->set_domain("own");
    twice->add_input("a");
    twice->add_output("b");
    *twice->add_opset_import() = *opset;
    node(*twice, "Add", "a", "a", "b");
  } else {
    node(graph, "Add", "x", "x", "t");
  }
  node(graph, "Add", "t", "w", "y");
  for (auto* value : {graph.add_input(), graph.add_output()}) {
    value->set_name(value == &graph.input(0) ? "x" : "y");
    value->mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
  }
  auto* weights = graph.add_initializer();
  weights->set_name("w");
  weights->add_dims(1);
  weights->set_data_type(onnx::TensorProto::FLOAT);
  point_to(*weights, location, 0, 4);
  const std::string path = folder + "/m.onnx";
  EXPECT_TRUE(write_file_atomically(path, model.SerializeAsString()).ok());
  return path;
}

TEST(InlinedFile, HasNoFunctionsAndLeadsToTheSameExternalData) {
  const Result<TemporaryFolder> folder = TemporaryFolder::make();
  ASSERT_TRUE(folder.ok());
  ASSERT_TRUE(write_file_atomically(folder->path() + "/data/w.bin", "abcd").ok());
  std::string copy;
  {
    const Result<std::optional<InlinedFile>> inlined = inlined_file(written(folder->path(), "data/w.bin", true));
    ASSERT_TRUE(inlined.ok()) << inlined.error().message;
    ASSERT_TRUE(inlined->has_value());
    copy = (*inlined)->path;
    onnx::ModelProto model;
    ASSERT_TRUE(load(copy, model).ok());
    EXPECT_EQ(model.functions_size(), 0);
    EXPECT_EQ(model.graph().node_size(), 2);
    EXPECT_EQ(text_or_empty((fs::path(copy).parent_path() / "data/w.bin").string()), "abcd");
  }
  EXPECT_FALSE(fs::exists(copy));
  EXPECT_TRUE(fs::exists(folder->path() + "/data/w.bin"));
}

TEST(InlinedFile, IsNotMadeWithoutFunctions) {
  const Result<TemporaryFolder> folder = TemporaryFolder::make();
  const Result<std::optional<InlinedFile>> inlined = inlined_file(written(folder->path(), "w.bin", false));
  ASSERT_TRUE(inlined.ok()) << inlined.error().message;
  EXPECT_FALSE(inlined->has_value());
}

TEST(InlinedFile, LinksToNothingOutsideOfTheModelsFolder) {
  const Result<TemporaryFolder> folder = TemporaryFolder::make();
  for (const char* location : {"../w.bin", "/tmp/w.bin", "a/../../w.bin", ""}) {
    const Result<std::optional<InlinedFile>> inlined = inlined_file(written(folder->path(), location, true));
    ASSERT_FALSE(inlined.ok()) << location;
    EXPECT_NE(inlined.error().message.find("lies outside of its folder"), std::string::npos) << inlined.error().message;
  }
}

}  // namespace
}  // namespace ridge::model
