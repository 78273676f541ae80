#include "limits/accelerator/multiply_adds.h"

#include <gtest/gtest.h>

#include "limits/accelerator/mma.h"

namespace ridge::limits::accelerator {
namespace {

// Twelve chains starting at 0 to 11 (and thread mod 8): after n steps the first is at n, the others 1 to 11 above it.
TEST(MultiplyAdds, CountOneStepAtATime) {
  EXPECT_EQ(expected_count(Precision::kFp32, 0, 8), 8 + 66);
  EXPECT_EQ(expected_count(Precision::kFp64, 13, 1000), 5 + 1000 + 66) << "thread 13 begins at 13 mod 8";
}

TEST(MultiplyAdds, NarrowTypesStopWhereTheyAreFull) {
  EXPECT_EQ(expected_count(Precision::kFp16, 0, 8), 74);
  EXPECT_EQ(expected_count(Precision::kFp16, 3, 100000), 2048) << "2^11: 2049 is no half";
  EXPECT_EQ(expected_count(Precision::kBf16, 3, 100000), 256) << "2^8";
  EXPECT_EQ(expected_count(Precision::kFp32, 0, int64_t{1} << 25), 16777216);
}

// x + 1, where x is first read as a signed byte: 126, 127, 128, then −128 + 1.
TEST(MultiplyAdds, BytesGoRound) {
  // Chains 0 … 11 after 120 steps: 120 … 128 for the first nine, then −127, −126, −125.
  const double sum_of_differences = (0 + 1 + 2 + 3 + 4 + 5 + 6 + 7 + 8) + (-247 - 246 - 245);
  EXPECT_EQ(expected_count(Precision::kInt8, 0, 120), 120 + sum_of_differences);
}

// An RTX 4090 has 128 multiprocessors of 128 lanes: 1024 threads on each, 12 chains, 2 FLOPs.
TEST(MultiplyAdds, AreTwoFlopsEach) { EXPECT_DOUBLE_EQ(flops_of_step({256, 4 * 128}, 2), 256.0 * 512 * 12 * 2); }

// m16n8k16: 16 · 8 · 16 multiply-adds are 4096 FLOPs (PTX ISA); 8 tiles, 8 warps per block of 256 threads.
TEST(Tiles, AreTwiceTheirVolume) {
  const MmaShape* shape = shape_of(Precision::kFp16, 80);
  ASSERT_STREQ(shape->name, "FP16_16x8x16");
  EXPECT_DOUBLE_EQ(flops_of_step({256, 10}, *shape), 10.0 * 8 * 8 * 4096);
  EXPECT_EQ(expected_tile_count(*shape, 9, 5), 1 + 5 * 16 + 28) << "8 tiles begin at 0 to 7: 28";
}

TEST(Tiles, OfATypeHaveAShapeFromTheGenerationOnThatMultipliesThem) {
  for (int capability : {75, 80, 86, 89, 90, 100, 120})
    for (Precision precision :
         {Precision::kFp64, Precision::kTf32, Precision::kFp16, Precision::kBf16, Precision::kFp8, Precision::kInt8}) {
      const bool turing = precision == Precision::kFp16 || precision == Precision::kInt8;
      const bool fp8 = capability == 89 || capability == 120;  // elsewhere emulated, or by other instructions
      const bool expected = precision == Precision::kFp8 ? fp8 : capability >= 80 || turing;
      EXPECT_EQ(shape_of(precision, capability) != nullptr, expected)
          << precision_name(precision) << " on " << capability;
    }
}

gpu::DeviceFacts facts_of_gpu(int64_t units, int64_t threads) {
  gpu::DeviceFacts facts;
  facts.compute_units = units;
  facts.threads_per_block = threads;
  return facts;
}

TEST(Layouts, KeepEveryUnitBusyInOneWave) {
  for (const Layout& layout : layouts(facts_of_gpu(132, 1024))) {
    EXPECT_EQ(layout.blocks % 132, 0u);
    EXPECT_LE(layout.blocks / 132 * layout.threads, 1024u) << "with 64 registers each, 1024 threads fit";
  }
  for (const Layout& layout : layouts(facts_of_gpu(10, 64))) EXPECT_LE(layout.threads, 64u);
}

TEST(Arithmetics, ThatADeviceLacksHaveAReason) {
  gpu::DeviceFacts facts = facts_of_gpu(1, 1);
  facts.fp32_lanes = 16;
  for (const LaneType& type : lane_types(facts)) {
    EXPECT_EQ(type.reason.empty(), type.precision == Precision::kFp32);
    if (type.precision == Precision::kFp16) {
      EXPECT_EQ(type.reason, "the device has no cl_khr_fp16");
    }
  }
}

}  // namespace
}  // namespace ridge::limits::accelerator
