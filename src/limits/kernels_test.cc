#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <set>

#include "base/clock.h"
#include "limits/memory_kernels.h"
#include "limits/peak_kernels.h"
#include "machine/isa.h"

namespace ridge::limits {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Names = std::vector<std::string>;

const Names kSse = {"sse2", "ssse3"};
const Names kHaswell = {"sse2", "ssse3", "sse4.2", "avx", "f16c", "fma", "avx2"};
const Names kAlderLake = {"sse2", "avx", "fma", "avx2", "avx_vnni"};
const Names kSkylakeX = {"sse2", "avx", "fma", "avx2", "avx512f", "avx512bw", "avx512vl"};
const Names kZen5 = {"sse2",     "avx",      "fma",         "avx2",        "avx512f",
                     "avx512bw", "avx512vl", "avx512_vnni", "avx512_bf16", "avx_vnni"};
const Names kSapphireRapids = {"sse2",     "avx",      "fma",         "avx2",        "avx512f",
                               "avx512bw", "avx512vl", "avx512_vnni", "avx512_bf16", "avx512_fp16",
                               "avx_vnni", "amx_tile", "amx_bf16",    "amx_int8"};

Names kernels_of(const Names& isa, Precision precision) {
  Names names;
  for (const PeakKernel* kernel : peak_kernels_for(isa))
    if (kernel->precision == precision) names.push_back(kernel->name);
  return names;
}

class Dispatch : public testing::Test {
 protected:
  void SetUp() override {
    if (peak_kernels().empty()) GTEST_SKIP() << "no kernels for this architecture";
  }
};

TEST_F(Dispatch, CpuWithoutFusedMultiplyAddHasFloatingPointOnly) {
  EXPECT_THAT(kernels_of(kSse, Precision::kFp32), ElementsAre("sse2 mulps + addps"));
  EXPECT_THAT(kernels_of(kSse, Precision::kFp64), ElementsAre("sse2 mulpd + addpd"));
  EXPECT_THAT(kernels_of(kSse, Precision::kInt8), IsEmpty());
  EXPECT_THAT(kernels_of({}, Precision::kFp32), IsEmpty());
}

TEST_F(Dispatch, Avx2OnlyMachineUsesItsFusedUnitsAndPairwiseInt8) {
  EXPECT_THAT(kernels_of(kHaswell, Precision::kFp32),
              ElementsAre("fma vfmadd231ps, 8 ymm", "fma vfmadd231ps, 10 ymm", "fma vfmadd231ps, 12 ymm"));
  EXPECT_THAT(kernels_of(kHaswell, Precision::kInt8), ElementsAre("avx2 vpmaddubsw + vpmaddwd"));
  EXPECT_THAT(kernels_of(kHaswell, Precision::kBf16), IsEmpty());
  EXPECT_THAT(kernels_of(kHaswell, Precision::kFp16), IsEmpty());
}

TEST_F(Dispatch, VnniWithoutAvx512UsesItsOwnEncoding) {
  EXPECT_THAT(kernels_of(kAlderLake, Precision::kInt8), ElementsAre("avx_vnni vpdpbusd, 12 ymm"));
}

TEST_F(Dispatch, Avx512WithoutVnniKeepsPairwiseInt8AndTriesBothWidths) {
  EXPECT_THAT(kernels_of(kSkylakeX, Precision::kInt8), ElementsAre("avx2 vpmaddubsw + vpmaddwd"));
  EXPECT_THAT(kernels_of(kSkylakeX, Precision::kFp32),
              ElementsAre("fma vfmadd231ps, 10 ymm", "avx512f vfmadd231ps, 8 zmm", "avx512f vfmadd231ps, 12 zmm",
                          "avx512f vfmadd231ps, 24 zmm"));
}

TEST_F(Dispatch, Zen5HasBf16AndInt8ButNoFp16) {
  EXPECT_THAT(kernels_of(kZen5, Precision::kBf16),
              ElementsAre("avx512_bf16 vdpbf16ps, 12 zmm", "avx512_bf16 vdpbf16ps, 24 zmm"));
  EXPECT_THAT(kernels_of(kZen5, Precision::kInt8),
              ElementsAre("avx512_vnni vpdpbusd, 12 zmm", "avx512_vnni vpdpbusd, 24 zmm"));
  EXPECT_THAT(kernels_of(kZen5, Precision::kFp16), IsEmpty());
}

TEST_F(Dispatch, MatrixUnitsReplaceVectorUnitsForTheirPrecisions) {
  EXPECT_THAT(kernels_of(kSapphireRapids, Precision::kBf16), ElementsAre("amx_bf16 tdpbf16ps, 6 tiles"));
  EXPECT_THAT(kernels_of(kSapphireRapids, Precision::kInt8), ElementsAre("amx_int8 tdpbssd, 6 tiles"));
  EXPECT_THAT(kernels_of(kSapphireRapids, Precision::kFp16),
              ElementsAre("avx512_fp16 vfmadd231ph, 12 zmm", "avx512_fp16 vfmadd231ph, 24 zmm"));
}

TEST_F(Dispatch, EveryMachineThatMultipliesAlsoReadsAndWrites) {
  for (const Names& isa : {kSse, kHaswell, kAlderLake, kSkylakeX, kZen5, kSapphireRapids}) {
    std::set<Traffic> traffic;
    for (const MemoryKernel* kernel : memory_kernels_for(isa)) traffic.insert(kernel->traffic);
    EXPECT_EQ(traffic.size(), 4u);
  }
}

TEST_F(Dispatch, KernelsOfOnePrecisionFollowEachOther) {
  std::set<Precision> seen;
  const PeakKernel* last = nullptr;
  for (const PeakKernel& kernel : peak_kernels()) {
    bool begins = !last || last->precision != kernel.precision;
    EXPECT_TRUE(!begins || seen.insert(kernel.precision).second) << kernel.name;
    last = &kernel;
  }
}

TEST_F(Dispatch, EveryPeakKernelOfThisCpuRunsAndComesBack) {
  const Names isa = machine::this_isa();
  auto usable = [&](const std::vector<const char*>& needs) {
    return std::all_of(needs.begin(), needs.end(),
                       [&](const char* need) { return std::find(isa.begin(), isa.end(), need) != isa.end(); });
  };
  for (const PeakKernel& kernel : peak_kernels()) {
    if (!usable(kernel.needs)) continue;
    double flops_per_s = 0;  // the best of several: another program may use the CPU in some
    for (int attempt = 0; attempt < 20; ++attempt) {
      TimePoint start = SteadyClock::now();
      kernel.run(10'000);
      flops_per_s = std::max(flops_per_s, 10'000 * kernel.flops_per_iteration / to_seconds(SteadyClock::now() - start));
    }
    EXPECT_GT(flops_per_s, 1e7) << kernel.name;
    EXPECT_LT(flops_per_s, 1e14) << kernel.name;  // of one core: detects a grossly wrong count
  }
}

// The triad writes a = b · 0 + c into the first third and nothing else.
TEST_F(Dispatch, MemoryKernelsTouchExactlyTheirWorkingSet) {
  const size_t size = 2 * kWorkingSetStep;
  const Names isa = machine::this_isa();
  for (const MemoryKernel* kernel : memory_kernels_for(isa)) {
    std::unique_ptr<float, void (*)(void*)> data(static_cast<float*>(std::aligned_alloc(4096, size + 4096)), std::free);
    const size_t count = size / sizeof(float), third = count / 3;
    for (size_t i = 0; i < count + 1024; ++i) data.get()[i] = static_cast<float>(i);
    kernel->run(reinterpret_cast<std::byte*>(data.get()), size, 2);
    bool writes = kernel->traffic != Traffic::kRead && kernel->traffic != Traffic::kPlainRead;
    for (size_t i = 0; i < count + 1024; ++i) {
      size_t expected = writes && i < third ? i + 2 * third : i;
      ASSERT_EQ(data.get()[i], static_cast<float>(expected)) << kernel->name << " at " << i;
    }
  }
}

TEST_F(Dispatch, AdditionChainTellsAPlausibleClock) {
  double best_hz = 0;
  for (int attempt = 0; attempt < 20; ++attempt) {
    TimePoint start = SteadyClock::now();
    ASSERT_TRUE(run_addition_chain(1 << 18));
    best_hz = std::max(best_hz, (1 << 18) / to_seconds(SteadyClock::now() - start));
  }
  EXPECT_GT(best_hz, 0.5e9);
  EXPECT_LT(best_hz, 7e9);
}

}  // namespace
}  // namespace ridge::limits
