#include "lab/workload.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "lab/experiments/all.h"

namespace ridge::lab {
namespace {

Target gpu_with(int64_t last_cache_bytes, int64_t multiprocessors) {
  Target target;
  target.architecture = 89;
  target.last_cache_bytes = last_cache_bytes;
  target.multiprocessors = multiprocessors;
  return target;
}

// T4, A100, H100, RTX 4090, B200: repeated passes over less than eight times the cache read some of it from there.
TEST(Workload, ArraysExceedAGpusCacheEightTimes) {
  for (const int64_t mebibytes : {4, 40, 50, 72, 126}) {
    const int64_t bytes = static_cast<int64_t>(floats_beyond_caches(gpu_with(mebibytes << 20, 0)) * sizeof(float));
    EXPECT_GE(bytes, 8 * (mebibytes << 20)) << mebibytes << " MiB";
    EXPECT_EQ(bytes == int64_t{1} << 30, mebibytes > 32) << mebibytes << " MiB";
  }
  Target cpu = gpu_with(int64_t{32} << 20, 0);
  cpu.cpu = true;
  EXPECT_EQ(floats_beyond_caches(cpu) * sizeof(float), size_t{128} << 20);
}

TEST(Workload, ProductsOfFewWavesDoNotFillAGpu) {
  const Waves few = waves_of(1024, 128, 128, gpu_with(0, 132)), many = waves_of(4096, 128, 128, gpu_with(0, 132));
  EXPECT_FALSE(few.fills);
  EXPECT_TRUE(many.fills);
  EXPECT_EQ(many.text, "; 1024 blocks of 128 × 128 are 7.8 waves of 132 multiprocessors");
  EXPECT_TRUE(waves_of(4096, 128, 256, gpu_with(0, 132)).fills) << "512 blocks: 3.9 waves, of four's time";
  EXPECT_FALSE(waves_of(4096, 128, 256, gpu_with(0, 165)).fills) << "3.1 waves";
  EXPECT_TRUE(waves_of(1024, 128, 128, gpu_with(0, 0)).fills) << "not known";
}

TEST(Workload, AReferenceIsAsLongAsASecondAllows) {
  EXPECT_EQ(checked_rows(1024, 1024 * 1024), 1024u);
  EXPECT_EQ(checked_rows(4096, 4096 * 4096), 64u);
  const std::vector<float> q = random_values(2 * 16 * 4, 1), k = random_values(2 * 16 * 4, 2),
                           v = random_values(2 * 16 * 4, 3);
  const std::vector<float> all = attention_of(q, k, v, 16, 4), some = attention_of(q, k, v, 16, 4, 5);
  ASSERT_EQ(some.size(), all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    const size_t row = i / 4;
    if (std::set<size_t>{0, 5, 10, 15, 17, 22, 27}.contains(row))
      EXPECT_EQ(some[i], all[i]) << row;
    else
      EXPECT_TRUE(std::isnan(some[i])) << row;
  }
}

TEST(Workload, StepsInClosedFormAreThoseOneByOne) {
  for (const float begin : {-1.0F, 0.3F, 15.0F})
    for (const int steps : {1, 16, 100}) {
      float x = begin;
      for (int step = 0; step < steps; ++step) x = std::fma(x, 0.75F, 0.125F);
      EXPECT_NEAR(after_steps(begin, steps, 0.75, 0.125), x, 5e-7) << begin << ", " << steps;
    }
}

// A GPU with 128 multiprocessors: the share of multiply-adds alone counts only if waves do not decide it.
TEST(Workload, SharesOfThePeakAreThoseOfProductsThatFillTheGpu) {
  Target target = gpu_with(int64_t{72} << 20, 128);
  target.library = true;
  int shares = 0;
  for (Case& work : experiments::matmul_cases(target)) {
    work.fill(work);
    EXPECT_FALSE(work.comparisons.empty()) << work.title;
    ASSERT_TRUE(work.sums) << work.title;
    EXPECT_EQ(work.sums->expected.size() * work.sums->weights.size(), work.buffers[work.output].size()) << "all rows";
    for (const Comparison& comparison : work.comparisons) {
      if (comparison.claim != "L16") continue;
      ++shares;
      EXPECT_NE(work.title.find("4096"), std::string::npos) << work.title;
      EXPECT_NE(comparison.because.find("8 waves of 128 multiprocessors"), std::string::npos) << comparison.because;
    }
  }
  EXPECT_EQ(shares, 2) << "ours and the library's";
}

}  // namespace
}  // namespace ridge::lab
