#include "precision/model_writer.h"

#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <filesystem>

#include "base/file.h"
#include "model/model_file.h"
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
  EXPECT_TRUE(write_model(model, "", files.in()).ok());
  return files;
}
const char* const kBody =
    "(float[N, 32] x) => (float[N, 32] y) <float[1, 1] w = {1}, float[1] b = {2}> { a = MatMul (x, w) \n y = Add (a, "
    "b) }";

TEST(ModelWriter, LargeWeightsGoBesideTheModel) {
  PassFiles files(kBody);
  onnx::ModelProto model;
  ASSERT_TRUE(model::load(large(files).in(), model).ok());
  Result<int64_t> bytes = write_model(model, files.folder(), files.out(), 100);
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
  ASSERT_TRUE(write_model(model, "", files.in(), 100).ok());
  Result<PassReport> report = quantise_dynamic(files.in(), {}, files.out());
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(integers_of(files.constant("w_quantized"))[0], 127);
  EXPECT_EQ(integers_of(files.constant("w_quantized"))[1024 - 1], 127);
  EXPECT_FALSE(std::filesystem::exists(files.out() + ".data"));
}

// Reading and replacing the same pair of files.
TEST(ModelWriter, ModelMayReplaceItself) {
  PassFiles files(kBody);
  onnx::ModelProto model;
  ASSERT_TRUE(model::load(large(files).in(), model).ok());
  ASSERT_TRUE(write_model(model, "", files.out(), 100).ok());
  onnx::ModelProto again;
  ASSERT_TRUE(model::load(files.out(), again).ok());
  ASSERT_TRUE(write_model(again, files.folder(), files.out(), 100).ok());
  ASSERT_TRUE(model::load(files.out(), again).ok());
  ASSERT_TRUE(write_model(again, files.folder(), files.out()).ok());
  EXPECT_EQ(floats_of(files.constant("w"))[0], 5);
}

TEST(Passes, BrokenModelsAreErrors) {
  PassFiles files(kBody);
  const std::string whole = read_file(large(files).in()).value();
  for (size_t size = 0; size < whole.size(); size += whole.size() / 19) {
    ASSERT_TRUE(write_file_atomically(files.in(), whole.substr(0, size)).ok());
    EXPECT_FALSE(quantise_dynamic(files.in(), {}, files.out()).ok()) << size;
    EXPECT_FALSE(expose_tensors(files.in(), {"a"}, files.out()).ok()) << size;
  }
  EXPECT_FALSE(quantise_dynamic(files.folder() + "/none.onnx", {}, files.out()).ok());
  EXPECT_FALSE(std::filesystem::exists(files.out()));
}

}  // namespace
}  // namespace ridge::precision
