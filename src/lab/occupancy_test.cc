#include "lab/occupancy.h"

#include <gtest/gtest.h>

namespace ridge::lab {
namespace {

Occupancy of(const char* version, const KernelUse& use) {
  auto all = catalogue::capabilities();
  auto capability = catalogue::find_capability(*all, version);
  auto result = occupancy(*capability, use);
  EXPECT_TRUE(result) << version;
  return result ? *result : Occupancy{};
}

// CUDA C++ Best Practices Guide, "Calculating Occupancy": 37 registers per thread on a multiprocessor of 65536
// registers and 64 warps: 75 % with blocks of 128 threads, 63 % with blocks of 320.
TEST(Occupancy, IsThatOfTheBestPracticesGuide) {
  Occupancy small = of("7.0", {128, 37, 0});
  EXPECT_EQ(small.blocks, 12);
  EXPECT_DOUBLE_EQ(small.percent, 75);
  Occupancy large = of("7.0", {320, 37, 0});
  EXPECT_EQ(large.blocks, 4);
  EXPECT_DOUBLE_EQ(large.percent, 62.5);
}

// CUDA C++ Programming Guide, "Multiprocessor Level" (capability 6.x): 512 threads of 64 registers: two blocks; one
// register more: one block.
TEST(Occupancy, DropsByABlockWithOneRegisterTooMany) {
  EXPECT_EQ(of("6.1", {512, 64, 0}).blocks, 2);
  Occupancy one = of("6.1", {512, 65, 0});
  EXPECT_EQ(one.blocks, 1);
  EXPECT_EQ(one.limiters, std::vector<std::string>{"registers"});
  EXPECT_EQ(one.registers_for_more, 64);
}

struct Reference {
  const char* capability;
  KernelUse use;
  int blocks;
};

// cudaOccMaxActiveBlocksPerMultiprocessor of cuda_occupancy.h, nvidia-cuda-runtime 13.5.37, with the carve-out all for
// shared memory.
const Reference kReferences[] = {
    {"7.5", {128, 40, 0}, 8},     {"8.0", {128, 40, 0}, 12},    {"8.6", {128, 40, 0}, 12},
    {"8.9", {128, 40, 0}, 12},    {"9.0", {128, 40, 0}, 12},    {"12.0", {128, 40, 0}, 12},
    {"7.5", {256, 64, 16384}, 4}, {"8.0", {256, 64, 16384}, 4}, {"8.6", {256, 64, 16384}, 4},
    {"8.9", {256, 64, 16384}, 4}, {"9.0", {256, 64, 16384}, 4}, {"12.0", {256, 64, 16384}, 4},
    {"7.5", {96, 128, 40000}, 1}, {"8.0", {96, 128, 40000}, 4}, {"8.6", {96, 128, 40000}, 2},
    {"8.9", {96, 128, 40000}, 2}, {"9.0", {96, 128, 40000}, 5}, {"12.0", {96, 128, 40000}, 2},
    {"7.5", {512, 33, 20000}, 2}, {"8.0", {512, 33, 20000}, 3}, {"8.6", {512, 33, 20000}, 3},
    {"8.9", {512, 33, 20000}, 3}, {"9.0", {512, 33, 20000}, 3}, {"12.0", {512, 33, 20000}, 3},
    {"7.5", {64, 16, 1024}, 16},  {"8.0", {64, 16, 1024}, 32},  {"8.6", {64, 16, 1024}, 16},
    {"8.9", {64, 16, 1024}, 24},  {"9.0", {64, 16, 1024}, 32},  {"12.0", {64, 16, 1024}, 24}};

TEST(Occupancy, IsThatOfTheVendorsOwnCalculator) {
  for (const Reference& r : kReferences)
    EXPECT_EQ(of(r.capability, r.use).blocks, r.blocks)
        << r.capability << ": " << r.use.threads << " threads, " << r.use.registers << " registers, "
        << r.use.shared_bytes << " bytes";
}

TEST(Occupancy, NamesAllThatLimit) {
  // 1536 threads in blocks of 256: six; six times 8.5 KiB and the reserved 1 KiB are below 100 KiB, registers admit
  // eight.
  Occupancy warps = of("8.9", {256, 32, 8.5 * 1024});
  EXPECT_EQ(warps.limiters, std::vector<std::string>{"warps"});
  EXPECT_DOUBLE_EQ(warps.percent, 100);
  Occupancy shared = of("9.0", {128, 32, 64 * 1024});
  EXPECT_EQ(shared.limiters, std::vector<std::string>{"shared memory"});
  EXPECT_EQ(shared.blocks, 3);
  // A quarter of 228 KiB, less the reserved KiB.
  EXPECT_DOUBLE_EQ(shared.shared_for_more.value_or(0), 56.0 * 1024);
  EXPECT_EQ(of("9.0", {128, 32, 56.0 * 1024}).blocks, 4);
  Occupancy blocks = of("8.6", {32, 16, 0});
  EXPECT_EQ(blocks.limiters, std::vector<std::string>{"blocks"});
  EXPECT_EQ(blocks.warps, 16);
}

TEST(Occupancy, IsNoneWhereTheKernelCannotStart) {
  EXPECT_EQ(of("8.0", {1025, 16, 0}).blocks, 0);
  EXPECT_EQ(of("8.0", {128, 256, 0}).blocks, 0);
  EXPECT_EQ(of("8.0", {128, 16, 163.0 * 1024 + 1}).blocks, 0);
  EXPECT_EQ(of("8.0", {128, 16, 163.0 * 1024}).blocks, 1);
}

TEST(Occupancy, OfACapabilityWithoutSourcedLimitsIsRefused) {
  auto all = catalogue::capabilities();
  auto result = occupancy(*catalogue::find_capability(*all, "1.3"), {});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kUnsupported);
  EXPECT_FALSE(occupancy(*catalogue::find_capability(*all, "8.0"), {0, 32, 0}));
}

}  // namespace
}  // namespace ridge::lab
