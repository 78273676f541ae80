#include "precision/model_writer.h"

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <filesystem>

#include "base/file.h"
#include "model/model_file.h"
#include "precision/convert.h"
#include "precision/quantise.h"
#include "precision/test_pass.h"

namespace ridge::precision {
namespace {

// A weight of 4 KiB, whose first value is 5, and a small one.
PassFiles& large(PassFiles& files) {
  onnx::ModelProto model;
  EXPECT_TRUE(model::load(files.in(), model).ok());
  onnx::TensorProto& weight = *model.mutable_graph()->mutable_initializer(0);
  std::vector<float> values(1024, 1);
  values[0] = 5;
  weight.clear_float_data();
  weight.set_raw_data(values.data(), values.size() * sizeof(float));
  weight.set_dims(0, 32);
  weight.set_dims(1, 32);
  EXPECT_TRUE(write_model(model, {}, files.in()).ok());
  return files;
}
const char* const kBody =
    "(float[N, 32] x) => (float[N, 32] y) <float[1, 1] w = {1}, float[1] b = {2}> { a = MatMul (x, w) \n y = Add (a, "
    "b) }";

TEST(ModelWriter, LargeWeightsGoBesideTheModel) {
  PassFiles files(kBody);
  onnx::ModelProto model;
  ASSERT_TRUE(model::load(large(files).in(), model).ok());
  Result<int64_t> bytes = write_model(model, {}, files.out(), 100);
  ASSERT_TRUE(bytes.ok()) << bytes.error().message;
  EXPECT_EQ(std::filesystem::file_size(files.out() + ".data"), 4096U);
  EXPECT_EQ(*bytes, static_cast<int64_t>(std::filesystem::file_size(files.out())) + 4096);
  EXPECT_LT(std::filesystem::file_size(files.out()), 1000U);
  EXPECT_EQ(files.result().initializer(1).data_location(), onnx::TensorProto::DEFAULT);
}

TEST(ModelWriter, DataBesideAModelIsReadByPassesAndEmbeddedWhereItFits) {
  PassFiles files(kBody);
  onnx::ModelProto model;
  ASSERT_TRUE(model::load(large(files).in(), model).ok());
  ASSERT_TRUE(write_model(model, {}, files.in(), 100).ok());
  Result<PassReport> report = quantise_dynamic(whole(files.in()), {}, files.out());
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(integers_of(files.constant("w_quantized"))[0], 127);
  EXPECT_EQ(integers_of(files.constant("w_quantized"))[1024 - 1], 127);
  EXPECT_FALSE(std::filesystem::exists(files.out() + ".data"));
}

TEST(ModelWriter, ModelMayReplaceItself) {
  PassFiles files(kBody);
  onnx::ModelProto model;
  ASSERT_TRUE(model::load(large(files).in(), model).ok());
  ASSERT_TRUE(write_model(model, {}, files.out(), 100).ok());
  for (const int64_t most_embedded : {int64_t{100}, kLargestEmbedded}) {
    const model::WholeModel before = whole(files.out());
    onnx::ModelProto again = *before.proto;
    ASSERT_TRUE(write_model(again, *before.external_data, files.out(), most_embedded).ok());
    EXPECT_EQ(data_file_of(files.out()), most_embedded == 100 ? files.out() + ".data" : "");
  }
  EXPECT_EQ(floats_of(files.constant("w"))[0], 5);
}

TEST(Passes, BrokenModelsAreErrors) {
  PassFiles files(kBody);
  const std::string bytes = read_file(large(files).in()).value();
  for (size_t size = 0; size < bytes.size(); size += bytes.size() / 19) {
    ASSERT_TRUE(write_file_atomically(files.in(), bytes.substr(0, size)).ok());
    EXPECT_FALSE(model::UnboundModel::read_whole(files.in()).ok()) << size;
  }
  EXPECT_FALSE(model::UnboundModel::read_whole(files.folder() + "/none.onnx").ok());
}

// A read model is all that a pass needs: its files may be gone.
TEST(Passes, ReadNoFileOfTheModel) {
  PassFiles files(kBody);
  onnx::ModelProto model;
  ASSERT_TRUE(model::load(large(files).in(), model).ok());
  ASSERT_TRUE(write_model(model, {}, files.in(), 100).ok());
  const std::string digest = model::UnboundModel::read(files.in())->digest().value();
  const model::WholeModel read = whole(files.in());
  ASSERT_EQ(read.unbound.external_files(), std::vector<std::string>{"in.onnx.data"});
  std::filesystem::remove(files.in());
  std::filesystem::remove(files.in() + ".data");
  EXPECT_EQ(read.unbound.digest().value(), digest);
  const TensorRanges ranges = {{"x", {-1, 1}}, {"a", {-1, 1}}, {"y", {-1, 1}}};
  EXPECT_TRUE(convert(read, Precision::kFp16, {}, files.out()).ok());
  EXPECT_TRUE(quantise_dynamic(read, {}, files.out()).ok());
  EXPECT_TRUE(quantise_weights(read, 4, 16, {}, files.out()).ok());
  EXPECT_TRUE(expose_tensors(read, {"a"}, files.out()).ok());
  EXPECT_EQ(quantisable_nodes(read).value().size(), 1U);
  EXPECT_TRUE(calibration_tensors(read, {}).ok());
  const Result<PassReport> report = quantise_static(read, ranges, {}, files.out());
  EXPECT_TRUE(report.ok()) << report.error().message;
}

}  // namespace
}  // namespace ridge::precision
