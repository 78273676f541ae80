// Worked examples of each law, by hand, on a GPU of round numbers.
#include "llm/kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "catalogue/data.h"

namespace ridge::llm {
namespace {

// 1 PFLOP/s, 1 TB/s, 100 multiprocessors, 100 GB/s.
Gpu round_gpu() {
  Gpu gpu;
  gpu.name = "round";
  gpu.flops_per_s = {{Precision::kBf16, 1e15}, {Precision::kFp8, 2e15}};
  gpu.bytes_per_s = 1e12;
  gpu.multiprocessors = 100;
  gpu.link_bytes_per_s = 1e11;
  gpu.has_nvlink = true;
  return gpu;
}

KernelLaw law(double t0_us, double compute, double memory) {
  KernelLaw l;
  l.t0_us = t0_us;
  l.compute_efficiency = compute;
  l.memory_efficiency = memory;
  return l;
}

TEST(Gemm, IsTheSmoothMaximumOfArithmeticAndMemory) {
  Gpu gpu = round_gpu();
  KernelLaw& l = gpu.laws[{"gemm", "bfloat16"}] = law(5, 0.8, 0.5);
  l.norm = 2;
  l.k_ramp = 100;
  l.extra_us = 1;
  // m = 6400, n = 12800, k = 1000: 50 × 100 tiles of 128 × 128 are 50 full waves of 100: filled to 1.
  // F = 1.6384e11, F/(P·0.8)·1.1 = 225.28 µs; B = 2·12.8e6 + 2·6.4e6 + 2·81.92e6 = 202.24e6, /(W·0.5) = 404.48 µs, + 1.
  const KernelTime t = gemm(gpu, WeightFormat::kBf16, 6400, 12800, 1000);
  EXPECT_NEAR(1e6 * t.seconds, 5 + std::hypot(225.28, 405.48), 0.01);
  EXPECT_NEAR(1e6 * t.bound_seconds, 202.24, 0.01);
  EXPECT_FALSE(t.compute_bound);
  // One row is a product of vectors: nothing is padded.
  gpu.start_share = 0;
  const KernelTime row = gemm(gpu, WeightFormat::kBf16, 1, 12800, 1000);
  const double compute = 2 * 12.8e6 / (1e15 * 0.8) * 1.1, memory = (25.6e6 + 2000 + 25600) / 0.5e12 + 1e-6;
  EXPECT_NEAR(row.seconds, std::hypot(compute, memory), 1e-9);
}

// One row is not padded; few tiles are divided along k where the law is that of other GPUs.
TEST(Gemm, OfFewRowsTakesAsLongAsReadingTheWeights) {
  Gpu gpu = round_gpu();
  gpu.laws[{"gemm", "bfloat16"}] = law(0, 1, 1);
  gpu.laws[{"gemm", "bfloat16"}].norm = 12;
  gpu.flops_per_s[Precision::kBf16] = 50e12;  // as GeForce: slow beside its memory
  const double read = 4096.0 * 4096 * 2 / 1e12;
  for (const double rows : {1, 4, 16})
    EXPECT_NEAR(gemm(gpu, WeightFormat::kBf16, rows, 4096, 4096).seconds, read, 0.05 * read) << rows;
  gpu.laws[{"gemm", "bfloat16"}].own = true;
  EXPECT_NEAR(gemm(gpu, WeightFormat::kBf16, 1, 4096, 4096).seconds, read, 0.05 * read);
  EXPECT_GT(gemm(gpu, WeightFormat::kBf16, 16, 4096, 4096).seconds, 2 * read);
}

TEST(Gemm, IsNeverBelowThePhysicalBound) {
  Gpu gpu = round_gpu();
  gpu.laws[{"gemm", "bfloat16"}] = law(0, 5, 5);  // a law that promises five times the peak
  for (const double m : {1., 64., 5000.}) {
    const KernelTime t = gemm(gpu, WeightFormat::kBf16, m, 4096, 4096);
    EXPECT_GE(t.seconds, t.bound_seconds);
    EXPECT_DOUBLE_EQ(t.seconds, t.bound_seconds);
  }
}

TEST(Gemm, OfAFormatWithoutUnitsReadsItsBytesAndComputesInBf16) {
  Gpu gpu = round_gpu();
  gpu.laws[{"gemm", "bfloat16"}] = law(0, 1, 1);
  // 4.5 bits, no FP4 units: bytes of the weights shrink, the rate stays that of BF16.
  EXPECT_NEAR(1e6 * gemm(gpu, WeightFormat::kNvfp4, 1, 8000, 8000).bound_seconds,
              64e6 * 4.5 / 8 / 1e6 + (16e3 + 16e3) / 1e6, 1e-6);
  EXPECT_NEAR(1e6 * gemm(gpu, WeightFormat::kNvfp4, 8000, 8000, 8000).bound_seconds, 2 * 512e9 / 1e15 * 1e6, 1e-6);
}

TEST(Experts, ReadThoseThatTheTokensTouch) {
  Gpu gpu = round_gpu();
  KernelLaw& l = gpu.laws[{"moe_vllm", "bfloat16"}] = law(10, 1, 1);
  l.us_per_100_experts = 100;
  l.norm = 6;
  l.ep_us = 7;
  ExpertWork work{1000, 1000, 16, 2, 1, 1, 1, true};
  // One token touches two experts of 3·10^6 weights: 12e6 bytes, 12 µs, and 1 µs for each; rows: 2·(2000 + 3000)·2 +
  // 2·1000·2 bytes.
  const KernelTime t = experts(gpu, WeightFormat::kBf16, work, "vllm");
  EXPECT_NEAR(1e6 * t.seconds, 10 + 2 + 12.024, 0.1);
  work.expert_parallel = 2;
  EXPECT_NEAR(1e6 * experts(gpu, WeightFormat::kBf16, work, "vllm").seconds, 17 + 1 + 6.012, 0.1);
  // 10000 tokens touch nearly all of them.
  EXPECT_NEAR(touched_experts(16, 2, 10000), 16, 0.01);
  EXPECT_DOUBLE_EQ(touched_experts(16, 2, 1), 2);
  EXPECT_LT(touched_experts(16, 2, 8), 16 * (1 - std::pow(14.0 / 16, 8)));
}

TEST(DecodeAttention, ReadsTheCacheOnce) {
  Gpu gpu = round_gpu();
  gpu.decode = law(10, 1, 0.5);
  gpu.decode.ramp_us = 4;
  Attention a;
  a.head_dim = a.value_dim = 128;
  DecodeWork work{a, 32, 8, 10, 100000, 16, 1};
  // 2·8·128·100000·2 bytes = 409.6e6: 819.2 µs at half of the bandwidth; the ramp is at its end.
  EXPECT_NEAR(1e6 * decode_attention(gpu, work).seconds, 10 + 819.2 + 4, 1e-3);
  work.attention.kind = AttentionKind::kWindow;
  work.attention.window = 128;
  // 1280 tokens: 5.243e6 bytes, 10.49 µs, and a ramp of √(52429/65536).
  EXPECT_NEAR(1e6 * decode_attention(gpu, work).seconds, 10 + 10.486 + 4 * std::sqrt(5.24288e6 / 100 / 65536), 1e-2);
  work.attention = {};
  work.attention.kind = AttentionKind::kLatent;
  work.attention.latent_rank = 512;
  work.attention.rope_dim = 64;
  work.heads = 128;
  // 576·2·100000 bytes = 115.2e6 are 149.6 µs at 0.77; 2·128·1088·100000 FLOP = 27.85e9 are 44.9 µs at 0.62.
  EXPECT_NEAR(1e6 * decode_attention(gpu, work).seconds, 10 + 115.2 / 0.77 + 4, 0.1);
}

TEST(PrefillAttention, CountsTheTokensBeforeTheChunk) {
  Gpu gpu = round_gpu();
  gpu.prefill = law(10, 0.5, 1);
  gpu.prefill.length_ramp = 500;
  Attention a;
  a.head_dim = a.value_dim = 100;
  // 2·10·200·1000·(4000 + 500) FLOP = 18e9 · 1.5 / 0.5e15 = 54 µs; bytes 2·(10000 + 50000)·200 = 24e6, half at 0.8
  // TB/s: 15 µs.
  EXPECT_NEAR(1e6 * prefill_attention(gpu, {a, 10, 10, 1000, 4000}).seconds, 10 + 54 + 15, 1e-6);
}

TEST(AllReduce, HasALatencyAndAShareOfTheLink) {
  const Gpu gpu = round_gpu();
  // 8 MB among 4: 5 + 12·(1 − e^−8) + 1.5·8e6/(0.85·1e11) s.
  EXPECT_NEAR(1e6 * all_reduce(gpu, 4, 8e6).seconds, 5 + 12 * (1 - std::exp(-8.0)) + 12e6 / 0.85e11 * 1e6, 1e-6);
  EXPECT_EQ(all_reduce(gpu, 1, 8e6).seconds, 0);
  // 16 GPUs in two nodes of 8: within them, and an eighth of the bytes over 40 GB/s after 40 us.
  EXPECT_NEAR(all_reduce(gpu, 16, 8e6).seconds, all_reduce(gpu, 8, 8e6).seconds + 40e-6 + 1e6 / 40e9, 1e-9);
}

TEST(Gpu, HasItsOwnLawsWhereItWasMeasuredAndThoseOfOthersElsewhere) {
  const auto devices = *catalogue::catalogue();
  const Gpu measured = *gpu_of(*catalogue::find_device(devices, "B200 SXM 180GB"));
  const Gpu other = *gpu_of(*catalogue::find_device(devices, "B300 SXM 288GB"));
  EXPECT_TRUE(gemm(measured, WeightFormat::kBf16, 64, 4096, 4096).own);
  EXPECT_FALSE(gemm(other, WeightFormat::kBf16, 64, 4096, 4096).own);
  EXPECT_GT(gemm(other, WeightFormat::kBf16, 64, 4096, 4096).error_percent, 0);
  const Gpu left_out =
      *gpu_of(*catalogue::find_device(devices, "B200 SXM 180GB"), catalogue::data("kernel_laws"), "B200 SXM 180GB");
  EXPECT_FALSE(gemm(left_out, WeightFormat::kBf16, 64, 4096, 4096).own);
  EXPECT_EQ(measured.link_bytes_per_s, 900e9);
  EXPECT_EQ(measured.link_gpus, 8);
  EXPECT_EQ(gpu_of(*catalogue::find_device(devices, "GB200 (per GPU)"))->link_gpus, 72);
}

TEST(Gpu, WithoutARateOrABandwidthIsRefused) {
  catalogue::CatalogueDevice device;
  device.name = "nothing";
  EXPECT_EQ(gpu_of(device).error().code, Code::kUnavailable);
}

}  // namespace
}  // namespace ridge::llm
