#include "precision/ranges.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>

#include "precision/test_model.h"
#include "precision/test_pass.h"

namespace ridge::precision {
namespace {

std::vector<float> line(float from, float to, size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = from + (to - from) * (static_cast<float>(i) + 0.5f) / static_cast<float>(count);
  return values;
}

TEST(Histogram, QuantilesOfAnEvenSpreadLieWhereTheyShould) {
  Histogram histogram;
  histogram.add(line(-1, 3, 100000));
  EXPECT_NEAR(histogram.quantile(0.25), 0, 2e-3);
  EXPECT_NEAR(histogram.quantile(0.5), 1, 2e-3);
  EXPECT_NEAR(histogram.quantile(0.75), 2, 2e-3);
  EXPECT_EQ(histogram.quantile(1), histogram.maximum());
  EXPECT_EQ(histogram.quantile(0), histogram.minimum());
}

TEST(Histogram, WidensForLaterValuesAndLosesNone) {
  Histogram histogram;
  histogram.add(line(0, 0.001f, 1000));
  histogram.add(line(-500, 0, 3000));
  EXPECT_EQ(histogram.total(), 4000);
  EXPECT_NEAR(histogram.quantile(0.75), 0, 1);
  double sum = 0;
  for (double count : histogram.magnitudes(128)) sum += count;
  EXPECT_NEAR(sum, 4000, 1e-6);
}

TEST(Histogram, OfZerosAloneHasNoWidth) {
  Histogram histogram;
  histogram.add(std::vector<float>(10, 0.0f));
  EXPECT_EQ(histogram.minimum(), 0);
  EXPECT_EQ(histogram.maximum(), 0);
  EXPECT_EQ(histogram.quantile(0.99), 0);
}

TEST(Histogram, CountsWhatIsNotFiniteApart) {
  Histogram histogram;
  histogram.add(std::vector<float>{1, std::nanf(""), std::numeric_limits<float>::infinity()});
  EXPECT_EQ(histogram.total(), 1);
  EXPECT_EQ(histogram.not_finite(), 2);
  EXPECT_EQ(histogram.maximum(), 1);
}

TEST(Ranges, PercentileLeavesTheOutlierOutAndMinMaxDoesNot) {
  Histogram histogram;
  histogram.add(line(0, 1, 100000));
  histogram.add(std::vector<float>{50});
  EXPECT_EQ(range_of(histogram, {RangeMethod::kMinMax, 0})->maximum, 50);
  const TensorRange range = *range_of(histogram, {RangeMethod::kPercentile, 99.9});
  EXPECT_NEAR(range.maximum, 1, 0.03);
  EXPECT_NEAR(range.minimum, 0, 0.03);
}

TEST(Ranges, OfNothingAreNone) { EXPECT_FALSE(range_of(Histogram(), {})); }

// Worked by hand: 8 bins, 4 levels. Five of six values lie in the first four bins, one in the last. Keeping 4 bins
// gives P = (2,1,1,2), where the last takes the outlier, against Q = (2,1,1,1): divergence 0.0487. All 8 bins in pairs
// give Q = (1.5,1.5,1,1,0,0,0,1) against P = (2,1,1,1,0,0,0,1): 0.0283. So nothing is clipped.
TEST(Ranges, EntropyThresholdMatchesAWorkedExample) {
  const std::vector<double> bins = {2, 1, 1, 1, 0, 0, 0, 1};
  EXPECT_EQ(entropy_threshold(bins, 4), 8u);
}

TEST(Ranges, EntropyClipsALongThinTail) {
  std::vector<double> bins(2048, 0);
  for (size_t i = 0; i < 512; ++i) bins[i] = 1000 * std::exp(-static_cast<double>(i * i) / (2.0 * 120 * 120));
  bins[2047] = 1;
  const size_t kept = entropy_threshold(bins);
  EXPECT_LT(kept, 700u);
  EXPECT_GE(kept, 256u);
}

TEST(Ranges, EntropyKeepsAnEvenSpreadWhole) { EXPECT_EQ(entropy_threshold(std::vector<double>(2048, 10)), 2048u); }

// The histogram's bin of all these values begins below them, and so did the range.
TEST(Ranges, EntropyKeepsTheEndsInOrderWhereAllValuesLieFarFromZero) {
  Histogram histogram;
  histogram.add(std::vector<float>{1, 1, 1, 1.0001f});
  histogram.add(std::vector<float>{1.0003f});
  const std::optional<TensorRange> range = range_of(histogram, {RangeMethod::kEntropy, 0});
  ASSERT_TRUE(range);
  EXPECT_LE(range->minimum, range->maximum);
}

TEST(Ranges, MethodsAreDescribed) {
  EXPECT_EQ(describe(RangeOptions{RangeMethod::kEntropy, 0}), "entropy");
  EXPECT_EQ(describe(RangeOptions{RangeMethod::kPercentile, 99.999}), "percentile 99.999");
}

TEST(Ranges, ActivationsOfARealModelAreObserved) {
  const plan::Plan plan = two_layer_plan(test_folder());
  if (Result<engine::Info> engine = engine::find_engine(plan); !engine) GTEST_SKIP() << engine.error().message;
  const std::vector<TensorSpec> inputs = {{"x", DataType::kFp32, {-1, 16}}};
  std::vector<Sample> samples(2);
  samples[0].push_back(tensor_of(DataType::kFp32, {1, 16}, std::vector<float>(16, 1.0f)));
  samples[1].push_back(tensor_of(DataType::kFp32, {1, 16}, std::vector<float>(16, -2.0f)));
  ObserveOptions options;
  options.folder = test_folder();
  Result<Activations> seen = observe(whole(plan.model), plan, inputs, {"x", "a", "b", "y"}, samples, options);
  ASSERT_TRUE(seen) << seen.error().message;
  EXPECT_EQ(seen->samples, 2u);
  const TensorRanges ranges = ranges_of(*seen, {});
  EXPECT_EQ(ranges.at("x").minimum, -2);
  EXPECT_EQ(ranges.at("x").maximum, 1);
  EXPECT_LT(ranges.at("a").minimum, 0);
  EXPECT_EQ(ranges.at("b").minimum, 0);  // behind Relu
  EXPECT_DOUBLE_EQ(ranges.at("b").maximum, ranges.at("a").maximum);
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(options.folder)) files += entry.is_regular_file();
  EXPECT_EQ(files, 1u) << "the exposed model is removed";
  std::filesystem::remove_all(test_folder());
}

}  // namespace
}  // namespace ridge::precision
