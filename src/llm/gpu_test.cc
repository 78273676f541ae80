// A GPU of one's own: what `ridge bench device` measures takes the place of the datasheet, and laws follow.
#include "llm/gpu.h"

#include <gtest/gtest.h>

#include "llm/kernels.h"

namespace ridge::llm {
namespace {

Gpu h100() { return *gpu_of(*catalogue::find_device(*catalogue::catalogue(), "H100 SXM5 80GB")); }

// 128 × 256 tiles of 66 × 66 for 132 multiprocessors: all are filled.
constexpr double kRows = 128 * 66, kColumns = 256 * 66, kDepth = 8192;
KernelTime large_gemm(const Gpu& gpu, WeightFormat format) { return gemm(gpu, format, kRows, kColumns, kDepth); }

KernelTime long_decode(const Gpu& gpu) {
  DecodeWork work;
  work.attention.head_dim = work.attention.value_dim = 128;
  work.heads = 32;
  work.kv_heads = 8;
  work.sequences = 64;
  work.cached = 640000;
  return decode_attention(gpu, work);
}

TEST(MeasuredGpu, AGemmAsDeepAsTheMeasuredOneTakesAsLong) {
  const Gpu listed = h100();
  MeasuredRates rates;
  rates.peaks[Precision::kBf16] = {700e12, 650e12, kDepth};
  const Gpu here = measured_gpu(listed, rates);
  const double flops = 2 * kRows * kColumns * kDepth;
  const KernelTime t = large_gemm(here, WeightFormat::kBf16);
  EXPECT_NEAR(flops / t.seconds, 650e12, 0.01 * 650e12);
  EXPECT_DOUBLE_EQ(t.bound_seconds, flops / 700e12);
  // Prompts' attention computes in the same arithmetic: its share of the GEMM's rate stays.
  PrefillWork work;
  work.attention.head_dim = work.attention.value_dim = 128;
  work.heads = work.kv_heads = 32;
  work.tokens = 32768;
  EXPECT_NEAR(prefill_attention(here, work).seconds / prefill_attention(listed, work).seconds,
              t.seconds / large_gemm(listed, WeightFormat::kBf16).seconds, 0.03);
  // FP8 and what memory limits were not measured.
  EXPECT_DOUBLE_EQ(large_gemm(here, WeightFormat::kFp8).seconds, large_gemm(listed, WeightFormat::kFp8).seconds);
  EXPECT_DOUBLE_EQ(long_decode(here).seconds, long_decode(listed).seconds);
}

TEST(MeasuredGpu, KernelsReadAsMuchSlowerAsItsMemory) {
  const Gpu listed = h100();
  const auto seconds_at = [&](double share) {
    MeasuredRates rates;
    rates.bytes_per_s = share * listed.bytes_per_s;
    return long_decode(measured_gpu(listed, rates)).seconds;
  };
  // At 0.93 of the datasheet, as the GPU that the law was fitted to, nothing changes.
  const double law = long_decode(listed).seconds;
  EXPECT_NEAR(seconds_at(0.93), law, 1e-3 * law);
  EXPECT_GT(seconds_at(0.93 / 2), 1.8 * law);
}

TEST(MeasuredGpu, BareInstructionsChangeTheLimitOnly) {
  const Gpu listed = h100();
  MeasuredRates rates;
  rates.peaks[Precision::kBf16] = {1.1 * listed.rate(Precision::kBf16), listed.rate(Precision::kBf16), 0};
  const KernelTime before = large_gemm(listed, WeightFormat::kBf16);
  const KernelTime after = large_gemm(measured_gpu(listed, rates), WeightFormat::kBf16);
  EXPECT_NEAR(after.seconds, before.seconds, 1e-9 * before.seconds);
  EXPECT_LT(after.bound_seconds, before.bound_seconds);
}

TEST(GpuOfTheCatalogue, SaysWhereTheRateOfItsLinkHasNoSource) {
  const auto unknown = [](const char* name) {
    return gpu_of(*catalogue::find_device(*catalogue::catalogue(), name))->link_unknown;
  };
  for (const char* name : {"H20 96GB", "H200 NVL", "A800 SXM4 80GB", "H800 SXM5 80GB"})
    EXPECT_TRUE(unknown(name)) << name;
  for (const char* name : {"H100 NVL", "H100 SXM", "RTX 4090", "L40S"}) EXPECT_FALSE(unknown(name)) << name;
}

}  // namespace
}  // namespace ridge::llm
