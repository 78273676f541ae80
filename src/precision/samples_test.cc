#include "precision/samples.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "base/npy.h"
#include "base/npz.h"
#include "precision/test_model.h"

namespace ridge::precision {
namespace {

class SamplesTest : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // Row r is r, r, r, r.
  static Tensor rows(int64_t count, DataType type = DataType::kFp32) {
    std::vector<float> values;
    for (int64_t i = 0; i < 4 * count; ++i) values.push_back(static_cast<float>(i / 4));
    Tensor tensor = tensor_of(DataType::kFp32, {count, 4}, values);
    return type == DataType::kFp32 ? std::move(tensor) : converted_to(tensor, type);
  }
  static Tensor converted_to(const Tensor& tensor, DataType type) {
    std::vector<double> values;
    for (size_t i = 0; i < tensor.data.size() / 4; ++i)
      values.push_back(static_cast<double>(reinterpret_cast<const float*>(tensor.data.data())[i]));
    return tensor_of(type, tensor.shape, values);
  }
  void write(const std::string& name, const std::string& content) const {
    ASSERT_TRUE(write_file_atomically(folder_ + "/" + name, content));
  }
  void write_array(const std::string& name, const Tensor& tensor) const { write(name, *write_npy(tensor.view())); }
  Result<Samples> gather(const std::string& path, SampleOptions options = {}) const {
    options.path = folder_ + "/" + path;
    return gather_samples(signature_, {{"x", {1, 4}}, {"ids", {1, 2}}}, nullptr, options);
  }
  std::string error_of(const std::string& path) const {
    Result<Samples> samples = gather(path);
    return samples ? "" : samples.error().message;
  }

  std::string folder_ = test_folder();
  engine::Signature signature_{{{"x", DataType::kFp32, {-1, 4}}}, {}, {}};
  const engine::Signature two_{{{"x", DataType::kFp32, {-1, 4}}, {"ids", DataType::kInt64, {-1, 2}}}, {}, {}};
};

float first_value(const Sample& sample) { return *reinterpret_cast<const float*>(sample[0].data.data()); }

TEST_F(SamplesTest, RowsOfOneFileAreSplitIntoPartsThatShareNone) {
  write_array("a.npy", rows(40));
  SampleOptions options;
  options.calibration = 10;
  options.held_out = 20;
  Result<Samples> samples = gather("a.npy", options);
  ASSERT_TRUE(samples) << samples.error().message;
  EXPECT_EQ(samples->calibration.size(), 10u);
  EXPECT_EQ(samples->held_out.size(), 20u);
  std::set<float> seen;
  for (const auto* part : {&samples->calibration, &samples->held_out})
    for (const Sample& sample : *part) {
      EXPECT_EQ(sample[0].shape, (Shape{1, 4}));
      seen.insert(first_value(sample));
    }
  EXPECT_EQ(seen.size(), 30u);
  EXPECT_FALSE(samples->synthetic);
  EXPECT_EQ(samples->origin, "30 rows of " + folder_ + "/a.npy");
}

TEST_F(SamplesTest, OfManyRowsOnlyTheUsedOnesAreReadSpreadEvenly) {
  write_array("x/a.npy", rows(1000));
  SampleOptions options;
  options.calibration = options.held_out = 5;
  Result<Samples> samples = gather("x", options);
  ASSERT_TRUE(samples) << samples.error().message;
  std::set<float> values;
  for (const auto* part : {&samples->calibration, &samples->held_out})
    for (const Sample& sample : *part) values.insert(first_value(sample));
  EXPECT_EQ(values, (std::set<float>{0, 100, 200, 300, 400, 500, 600, 700, 800, 900}));
  signature_ = two_;
  write_array("both/x/a.npy", rows(1000));
  write_array("both/ids/a.npy", tensor_of(DataType::kInt64, {999, 2}, std::vector<int64_t>(1998)));
  EXPECT_NE(error_of("both").find("1000 rows for input 'x', 999 for 'ids'"), std::string::npos) << error_of("both");
}

TEST_F(SamplesTest, TheSameSeedGivesTheSameSplit) {
  write_array("a.npy", rows(40));
  const auto held_out = [&](uint64_t seed) {
    SampleOptions options;
    options.seed = seed;
    const Result<Samples> samples = gather("a.npy", options);
    std::vector<float> values;
    for (const Sample& sample : samples->held_out) values.push_back(first_value(sample));
    return values;
  };
  EXPECT_EQ(held_out(1), held_out(1));
  EXPECT_NE(held_out(1), held_out(7));
}

TEST_F(SamplesTest, AFolderHoldsOneSamplePerFileAlsoWithoutTheBatch) {
  for (int i = 0; i < 6; ++i) {
    const std::vector<float> value(4, static_cast<float>(i));
    write_array("s" + std::to_string(i) + ".npy", tensor_of(DataType::kFp32, {4}, value));
  }
  write("README.txt", "not a sample");
  Result<Samples> samples = gather("");
  ASSERT_TRUE(samples) << samples.error().message;
  EXPECT_EQ(samples->calibration.size() + samples->held_out.size(), 6u);
  EXPECT_EQ(samples->calibration[0][0].shape, (Shape{1, 4}));
  ASSERT_EQ(samples->notes.size(), 1u);
  EXPECT_NE(samples->notes[0].find("1 other files"), std::string::npos);
}

TEST_F(SamplesTest, DoublesBecomeTheModelsFloats) {
  write_array("a.npy", rows(4, DataType::kFp64));
  Result<Samples> samples = gather("a.npy");
  ASSERT_TRUE(samples) << samples.error().message;
  EXPECT_EQ(samples->calibration[0][0].type, DataType::kFp32);
}

TEST_F(SamplesTest, SeveralInputsComeFromArchivesOrSubfolders) {
  signature_ = two_;
  const Tensor x = rows(3);
  const Tensor ids = tensor_of(DataType::kInt32, {3, 2}, std::vector<int32_t>{1, 2, 3, 4, 5, 6});
  const std::vector<NamedView> views = {{"ids", ids.view()}, {"x", x.view()}, {"label", ids.view()}};
  write("archive/a.npz", *write_npz(views));
  write_array("folders/x/1.npy", x);
  write_array("folders/ids/1.npy", ids);
  for (const char* path : {"archive", "folders", "archive/a.npz"}) {
    Result<Samples> samples = gather(path);
    ASSERT_TRUE(samples) << path << samples.error().message;
    EXPECT_EQ(samples->calibration.size() + samples->held_out.size(), 3u);
    EXPECT_EQ(samples->held_out[0][1].type, DataType::kInt64);
    EXPECT_EQ(samples->held_out[0][1].shape, (Shape{1, 2}));
  }
}

TEST_F(SamplesTest, RecordedRequestsAreNamedSo) {
  const Tensor x = rows(2);
  const std::vector<NamedView> views = {{"x", x.view()}};
  write("m/request-17-000000.npz", *write_npz(views));
  Result<Samples> samples = gather("");
  ASSERT_TRUE(samples) << samples.error().message;
  EXPECT_EQ(samples->origin, "2 rows of recorded requests of " + folder_ + "/m");
}

TEST_F(SamplesTest, SaysWhatIsWrongWithTheFiles) {
  write_array("shape/a.npy", tensor_of(DataType::kFp32, {2, 5}, std::vector<float>(10)));
  write_array("type/a.npy", tensor_of(DataType::kUint8, {2, 4}, std::vector<uint8_t>(8)));
  write_array("mixed/a.npy", rows(1));
  write("mixed/b.jpg", "");
  write("text/a.txt", "1 2 3");
  const float nan = std::numeric_limits<float>::quiet_NaN();
  write_array("empty/a.npy", tensor_of(DataType::kFp32, {0, 4}, std::vector<float>()));
  write_array("nan/a.npy", tensor_of(DataType::kFp32, {2, 4}, std::vector<float>{0, 1, 2, 3, 4, 5, nan, 7}));
  EXPECT_NE(error_of("none").find("no such file"), std::string::npos);
  EXPECT_NE(error_of("shape").find("[2,5]"), std::string::npos) << error_of("shape");
  EXPECT_NE(error_of("type").find("UINT8"), std::string::npos) << error_of("type");
  EXPECT_NE(error_of("nan").find("input 'x' is nan"), std::string::npos) << error_of("nan");
  EXPECT_NE(error_of("empty").find("a.npy: its shape [0,4] holds no samples"), std::string::npos) << error_of("empty");
  EXPECT_NE(error_of("mixed").find("different kinds"), std::string::npos) << error_of("mixed");
  EXPECT_NE(error_of("text").find("nothing readable"), std::string::npos) << error_of("text");
  signature_ = two_;
  EXPECT_NE(error_of("shape").find("2 inputs ('x', 'ids')"), std::string::npos) << error_of("shape");
}

TEST_F(SamplesTest, IntegersThatDoNotFitAreAnError) {
  signature_ = {{{"x", DataType::kInt32, {-1, 1}}}, {}, {}};
  write_array("a.npy", tensor_of(DataType::kInt64, {1, 1}, std::vector<int64_t>{int64_t{1} << 40}));
  SampleOptions options;
  options.path = folder_ + "/a.npy";
  Result<Samples> samples = gather_samples(signature_, {{"x", {1, 1}}}, nullptr, options);
  ASSERT_FALSE(samples);
  EXPECT_NE(samples.error().message.find("INT32"), std::string::npos) << samples.error().message;
}

TEST_F(SamplesTest, OneSampleServesBothPartsAndIsSaid) {
  write_array("a.npy", rows(1));
  Result<Samples> samples = gather("a.npy");
  ASSERT_TRUE(samples) << samples.error().message;
  EXPECT_TRUE(samples->shared);
  EXPECT_EQ(samples->calibration.size(), 1u);
  EXPECT_EQ(samples->held_out.size(), 1u);
  EXPECT_FALSE(samples->notes.empty());
}

TEST_F(SamplesTest, SyntheticSamplesDifferAndSayWhatTheyAre) {
  SampleOptions options;
  options.calibration = 2;
  options.held_out = 3;
  Result<Samples> samples = gather_samples(signature_, {{"x", {1, 4}}}, nullptr, options);
  ASSERT_TRUE(samples) << samples.error().message;
  EXPECT_EQ(samples->calibration.size(), 2u);
  EXPECT_EQ(samples->held_out.size(), 3u);
  EXPECT_NE(first_value(samples->calibration[0]), first_value(samples->held_out[0]));
  EXPECT_EQ(samples->origin, "synthetic, seed 1");
  EXPECT_NE(provenance(*samples, samples->held_out.size()).find("synthetic data"), std::string::npos);
  EXPECT_NE(provenance(*samples, 1).find("on 1 of "), std::string::npos) << "time for one only";
  EXPECT_TRUE(samples->synthetic);
}

TEST_F(SamplesTest, LargeSamplesAreFewer) {
  SampleOptions options;
  options.most_bytes = 16 * 10;
  Result<Samples> samples = gather_samples(signature_, {{"x", {1, 4}}}, nullptr, options);
  ASSERT_TRUE(samples);
  EXPECT_LE(samples->calibration.size() + samples->held_out.size(), 10u);
  EXPECT_FALSE(samples->calibration.empty());
  EXPECT_EQ(samples->notes.size(), 1u);
}

}  // namespace
}  // namespace ridge::precision
