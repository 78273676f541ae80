#include "predict/optimised_graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "base/file.h"
#include "base/temporary_folder.h"
#include "model/optimised.h"
#include "zoo/blueprint.h"
#include "zoo/writer.h"

namespace ridge::predict {
namespace {

// The engine is a script that copies a prepared graph to the requested path, another one for the shape query, and
// counts.
class OptimisedGraphTest : public ::testing::Test {
 protected:
  void SetUp() override {
    write("file.onnx", {{"Relu", "r"}, {"Neg", "y"}}, {});
    write("graph.onnx", {{"Selu", "t"}, {"Elu", "y"}}, {});  // as the engine writes it: "t" is new, and has no shape
    write("shapes.onnx", {{"Selu", "t"}, {"Elu", "y"}}, {{"t", DataType::kFp32, {int64_t{5}, int64_t{16}}}});
    at_batch_.batch = 5;
    question_.plan.model = path("file.onnx");
    question_.plan.engine = "fake";
    question_.machine = "here";
    question_.folder = path("kept");
    limits_.time = std::chrono::seconds(60);
    question_.program = path("program");
    answer(R"(cp "$folder/graph.onnx" "$to")", R"(cp "$folder/shapes.onnx" "$to")");
  }

  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }

  struct Step {
    std::string op, result;
  };
  // A chain of operators from x [n, 4] to y.
  void write(const std::string& name, const std::vector<Step>& steps, std::vector<zoo::Port> more_outputs) {
    zoo::Blueprint chain;
    chain.name = "chain";
    chain.inputs = {{"x", DataType::kFp32, {std::string("n"), int64_t{4}}}};
    chain.outputs = std::move(more_outputs);
    chain.outputs.push_back({"y", DataType::kFp32, {std::string("n"), int64_t{4}}});
    std::string at = "x";
    for (const Step& step : steps) {
      chain.operations.push_back({step.result, step.op, {at}, {step.result}, {}});
      at = step.result;
    }
    ASSERT_TRUE(zoo::write(chain, 0, path(name)));
  }

  Result<model::Graph> ask() {
    Result<model::UnboundModel> file = model::UnboundModel::read(path("file.onnx"));
    if (!file) return file.error();
    Result<model::Graph> bound = file->bind(at_batch_);
    if (!bound) return bound.error();
    Result<EngineGraph> engine = EngineGraph::ask(*file, question_, limits_);
    if (!engine) return engine.error();
    return engine->at(*bound, limits_);
  }

  static std::optional<Shape> shape_of(const model::Graph& graph, const std::string& name) {
    for (const model::TensorInfo& tensor : graph.tensors)
      if (tensor.name == name) return tensor.shape;
    return std::nullopt;
  }

  void answer(const std::string& first, const std::string& second) {
    const std::string script =
        "#!/bin/sh\nfolder=" + folder_.path() +
        "\nto=$(printf '%s' \"$2\" | sed 's/.*\"optimised_model\":\"\\([^\"]*\\)\".*/\\1/')\necho asked >> "
        "\"$folder/asked\"\n"
        "case \"$2\" in *'\"graph_level\":\"off\"'*) " +
        second + " ;; *) " + first +
        " ;; esac || exit 3\n"
        R"(echo '{"engine":"fake","version":"1","start":{"resident":1,"peak":1},"loaded":{"resident":1,"peak":1},)"
        R"("steady":{"resident":1,"peak":1},"load_ms":1,"runs":0,"latency_ms":{}}')"
        "\n";
    ASSERT_TRUE(write_file_atomically(question_.program, script));
    std::filesystem::permissions(question_.program, std::filesystem::perms::owner_all);
  }
  int times_asked() const {
    const Result<std::string> read = read_file(path("asked"));
    const std::string text = read ? *read : "";
    return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
  }

  TemporaryFolder folder_ = *TemporaryFolder::make();
  model::Binding at_batch_;
  GraphQuestion question_;
  ChildLimits limits_;
};

TEST_F(OptimisedGraphTest, HasTheEnginesNodesWithShapesFromBothSides) {
  Result<model::Graph> graph = ask();
  ASSERT_TRUE(graph) << graph.error().message;
  ASSERT_EQ(graph->nodes.size(), 2U);
  EXPECT_EQ(graph->nodes[0].op, "Selu");
  EXPECT_EQ(shape_of(*graph, "t"), (Shape{5, 16}));  // the engine's
  EXPECT_EQ(shape_of(*graph, "y"), (Shape{5, 4}));   // ridge's own, by name
  EXPECT_EQ(times_asked(), 3);
}

TEST_F(OptimisedGraphTest, AsksAgainOnlyForWhatIsNew) {
  ASSERT_TRUE(ask());
  ASSERT_TRUE(ask());
  EXPECT_EQ(times_asked(), 3);
  at_batch_.batch = 7;  // shapes only
  ASSERT_TRUE(ask());
  EXPECT_EQ(times_asked(), 4);
  write("file.onnx", {{"Relu", "r"}, {"Abs", "y"}}, {});  // another content
  ASSERT_TRUE(ask());
  EXPECT_EQ(times_asked(), 7);
  question_.folder.clear();  // nothing is stored
  ASSERT_TRUE(ask());
  EXPECT_EQ(times_asked(), 10);
}

TEST_F(OptimisedGraphTest, ReadsEachFileOnceForAllSizes) {
  Result<model::UnboundModel> file = model::UnboundModel::read(path("file.onnx"));
  ASSERT_TRUE(file);
  Result<EngineGraph> engine = EngineGraph::ask(*file, question_, limits_);
  ASSERT_TRUE(engine) << engine.error().message;
  std::filesystem::remove(path("file.onnx"));
  for (const int64_t batch : {5, 7, 5}) {
    std::filesystem::remove_all(question_.folder);  // what was read is not read again
    at_batch_.batch = batch;
    const Result<model::Graph> graph = engine->at(*file->bind(at_batch_), limits_);
    ASSERT_TRUE(graph) << graph.error().message;
    EXPECT_EQ(shape_of(*graph, "t"), (Shape{5, 16}));
    EXPECT_EQ(shape_of(*graph, "y"), (Shape{batch, 4}));
  }
  EXPECT_EQ(times_asked(), 4);
}

TEST_F(OptimisedGraphTest, IsNotAskedForShapesThatAreKnownByName) {
  answer(R"(cp "$folder/file.onnx" "$to")", "exit 3");
  Result<model::Graph> graph = ask();
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_TRUE(model::has_all_shapes(*graph));
  EXPECT_EQ(times_asked(), 2);  // for the open ones
}

TEST_F(OptimisedGraphTest, WithoutAnAnswerAboutShapesTheyStayUnknown) {
  answer(R"(cp "$folder/graph.onnx" "$to")", "echo no such operator; exit 3");
  Result<model::Graph> graph = ask();
  ASSERT_TRUE(graph) << graph.error().message;
  EXPECT_FALSE(shape_of(*graph, "t"));
  EXPECT_EQ(shape_of(*graph, "y"), (Shape{5, 4}));
}

TEST_F(OptimisedGraphTest, ARefusalIsAnErrorWithItsReasonAndIsNotKept) {
  answer("echo opset 99 is too new; exit 3", "exit 3");
  Result<model::Graph> refused = ask();
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("opset 99"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(question_.folder));
}

}  // namespace
}  // namespace ridge::predict
