#include "serve/warmup.h"

#include <gtest/gtest.h>

#include "base/fake_clock.h"
#include "serve/test_session.h"

namespace ridge::serve {
namespace {

using Sizes = std::vector<int64_t>;

TEST(WarmupBatches, CoverEverySizeOfSmallBatches) {
  EXPECT_EQ(warmup_batches(0, {}), (Sizes{1}));
  EXPECT_EQ(warmup_batches(4, {}), (Sizes{1, 2, 3, 4}));
}

TEST(WarmupBatches, AboveSixteenCoverPowersOfTwoPreferredSizesAndTheLargest) {
  EXPECT_EQ(warmup_batches(100, {48, 200}),
            (Sizes{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 32, 48, 64, 100}));
}

class WarmUp : public testing::Test {
 protected:
  WarmUp() {
    settings_.name = "m";
    settings_.max_batch_size = 3;
    settings_.model_inputs = 1;
    settings_.inputs = {{"x", DataType::kFp32, {-1, 2}, {}, false, 0, {}, {}}};
    settings_.outputs = {{"y", DataType::kFp32, {-1, 2}, {}, false, 0, {}, {}}};
  }
  Result<Sizes> run() {
    TestSession session({{{"x", DataType::kFp32, {-1, -1, 2}}}, {{"y", DataType::kFp32, {-1, -1, 2}}}},
                        [this](auto inputs, auto wanted, auto outputs) {
                          shapes_.push_back(inputs[0].shape);
                          last_ = floats_of(inputs[0].data);
                          if (fail_) return Status(Error{Code::kFailed, "no"});
                          return TestSession::echo(inputs, wanted, outputs);
                        });
    FakeClock clock;
    BatchRunner runner(settings_, session, clock);
    return warm_up(settings_, runner);
  }

  ModelSettings settings_;
  std::vector<Shape> shapes_;
  std::vector<float> last_;
  bool fail_ = false;
};

TEST_F(WarmUp, RunsEveryBatchSizeWithZeros) {
  ASSERT_TRUE(run().ok());
  EXPECT_EQ(shapes_, (std::vector<Shape>{{1, 1, 2}, {2, 1, 2}, {3, 1, 2}}));
  EXPECT_EQ(last_, std::vector<float>(6, 0.0f));
}

TEST_F(WarmUp, SaysWhichSizesAreWarm) {
  EXPECT_EQ(*run(), (Sizes{1, 2, 3}));
  settings_.warmup_batches = false;
  EXPECT_EQ(*run(), Sizes());
}

TEST_F(WarmUp, EverySizeRunsWithTheConfigurationsSampleWhereItGivesEveryInput) {
  settings_.warmup_samples = {{"s", 1, 1, {{"x", DataType::kFp32, {5, 2}, WarmupTensor::Data::kRandom, ""}}}};
  ASSERT_TRUE(run().ok());
  EXPECT_EQ(shapes_, (std::vector<Shape>{{1, 5, 2}, {2, 5, 2}, {3, 5, 2}, {1, 5, 2}}))
      << "the dimension that is open is as in the sample, which then runs as it is";
}

TEST_F(WarmUp, AModelThatRefusesGuessedZerosIsServedAllTheSame) {
  fail_ = true;
  EXPECT_EQ(*run(), Sizes()) << "nothing is warm";
  EXPECT_EQ(shapes_.size(), 1u);
}

TEST_F(WarmUp, CanBeSwitchedOff) {
  settings_.warmup_batches = false;
  EXPECT_TRUE(run().ok());
  EXPECT_TRUE(shapes_.empty());
}

TEST_F(WarmUp, SamplesRunAsOftenAsTheySayWithTheirData) {
  TestFolder folder;
  float row[4] = {1, 2, 3, 4};
  folder.write("warmup/data", std::string(reinterpret_cast<const char*>(row), sizeof row));
  settings_.warmup_batches = false;
  settings_.warmup_samples = {
      {"s", 2, 3, {{"x", DataType::kFp32, {2, 2}, WarmupTensor::Data::kFile, folder.path() + "/warmup/data"}}}};
  ASSERT_TRUE(run().ok());
  EXPECT_EQ(shapes_, (std::vector<Shape>(3, Shape{2, 2, 2})));
  EXPECT_EQ(last_, (std::vector<float>{1, 2, 3, 4, 1, 2, 3, 4}));
}

TEST_F(WarmUp, ASampleThatFailsIsAnErrorThatNamesIt) {
  settings_.warmup_samples = {{"s", 1, 1, {{"x", DataType::kFp32, {1, 2}, WarmupTensor::Data::kRandom, ""}}}};
  EXPECT_TRUE(run().ok());
  EXPECT_GE(last_[0], 0.0f);
  EXPECT_LT(last_[0], 1.0f);
  fail_ = true;
  Result<Sizes> failed = run();
  ASSERT_FALSE(failed);
  EXPECT_NE(failed.error().message.find("'s'"), std::string::npos);
  settings_.warmup_samples[0].inputs[0].dims = {int64_t{1} << 40, 2};
  fail_ = false;
  EXPECT_FALSE(run().ok()) << "nothing is allocated by a claimed size";
}

}  // namespace
}  // namespace ridge::serve
