#include "model/rows.h"

#include <gtest/gtest.h>

#include "model/test_models.h"

namespace ridge::model {
namespace {

// Why the rows of a graph in ONNX's text form are not tied; empty: they are.
std::string untied(const std::string& graph) {
  const Result<UnboundModel> model = UnboundModel::read_bytes(graph_bytes(graph), ".");
  EXPECT_TRUE(model.ok()) << model.error().message;
  const Status tied = check_rows_tied(*model);
  return tied ? "" : tied.error().message;
}

TEST(TiedRows, FollowBySymbolAndByInference) {
  EXPECT_EQ(untied("(float[batch, 3] x) => (float[batch, 3] y) { y = Relu(x) }"), "");
  EXPECT_EQ(untied("(float[N, 3] x) => (float[y_rows, 3] y) { y = Relu(x) }"), "") << "inferred";
  EXPECT_EQ(untied("(float[?, 3] x) => (float[?, 3] y) { y = Relu(x) }"), "") << "unnamed";
  EXPECT_EQ(untied("(float[N, 3] a, float[N, 3] b) => (float[N, 3] y) { y = Add(a, b) }"), "");
}

TEST(TiedRows, DoNotWhereDimensionsDifferOrDependOnValues) {
  const char* found = "(float[batch, 3] x) => (int64[found, 2] y) { i = NonZero(x) y = Transpose(i) }";
  EXPECT_NE(untied(found).find("'y'"), std::string::npos) << untied(found);
  EXPECT_NE(untied("(float[?, 3] x) => (int64[?, 2] y) { i = NonZero(x) y = Transpose(i) }"), "");
  EXPECT_NE(untied("(float[a, 3] x, float[b, 3] z) => (float[a, 3] y) { y = Relu(x) }"), "");
  EXPECT_NE(untied("(float[batch, 3] x) => (float[one, 3] y) { y = ReduceMax<axes = [0], keepdims = 1>(x) }"), "");
  EXPECT_NE(untied("(float[3, 3] x) => (float[3, 3] y) { y = Relu(x) }"), "");
  EXPECT_NE(untied("(float[batch, k] x) => (float[k, batch] y) { y = Transpose<perm = [1, 0]>(x) }"), "");
}

TEST(TiedRows, AreNotPositionsOrThingsFound) {
  for (const std::string name : {"sequence", "seq_len", "Time", "num_boxes", "tokens"})
    EXPECT_NE(untied("(float[" + name + ", 3] x) => (float[" + name + ", 3] y) { y = Relu(x) }"), "") << name;
}

}  // namespace
}  // namespace ridge::model
