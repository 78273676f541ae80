#include "machine/isa.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"

namespace ridge::machine {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;

constexpr uint64_t kEverything = 0x600e7;  // x87, SSE, AVX, opmask, ZMM, tiles

CpuidWords all_flags() {
  CpuidWords words;
  words.leaf1_ecx = words.leaf1_edx = words.leaf7_ebx = words.leaf7_ecx = words.leaf7_edx = words.leaf7_1_eax = ~0u;
  words.xcr0 = kEverything;
  words.amx_permitted = true;
  return words;
}

TEST(Isa, Avx512NeedsItsRegistersSavedByTheSystem) {
  CpuidWords words = all_flags();
  EXPECT_THAT(isa_from_cpuid(words), Contains("avx512f"));
  words.xcr0 = 0x7;  // x87, SSE, AVX
  EXPECT_THAT(isa_from_cpuid(words), Not(Contains("avx512f")));
  EXPECT_THAT(isa_from_cpuid(words), Not(Contains("avx512_bf16")));
  EXPECT_THAT(isa_from_cpuid(words), Contains("avx2"));
}

TEST(Isa, AvxNeedsItsRegistersSavedByTheSystem) {
  CpuidWords words = all_flags();
  words.xcr0 = 0;
  EXPECT_THAT(isa_from_cpuid(words), ElementsAre("sse2", "ssse3", "sse4.1", "sse4.2"));
}

TEST(Isa, AmxNeedsPermissionToo) {
  CpuidWords words = all_flags();
  words.amx_permitted = false;
  EXPECT_THAT(isa_from_cpuid(words), Not(Contains("amx_tile")));
  EXPECT_THAT(isa_from_cpuid(words), Contains("avx512_fp16"));
}

TEST(Isa, ACapLeavesWhatIsBelowIt) {
  const std::vector<std::string> all = isa_from_cpuid(all_flags());
  auto up_to = [&](const std::string& cap) { return *isa_up_to(cap, all); };
  EXPECT_THAT(up_to("AVX2"), ElementsAre("sse2", "ssse3", "sse4.1", "sse4.2", "avx", "f16c", "fma", "avx2"));
  EXPECT_THAT(up_to("avx512_core"), testing::AllOf(Contains("avx512vl"), Not(Contains("avx512_vnni"))));
  EXPECT_THAT(up_to("AVX512_CORE_BF16"), testing::AllOf(Contains("avx512_vnni"), Not(Contains("amx_bf16"))));
  EXPECT_EQ(up_to("AVX512_CORE_AMX"), all);
  EXPECT_FALSE(isa_up_to("AVX3", all));
}

TEST(Isa, CpuinfoUsesTheKernelsNames) {
  EXPECT_THAT(isa_from_cpuinfo("processor : 0\nflags\t\t: sse2 sse4_2 avx2 unheard_of\n"),
              ElementsAre("sse2", "sse4.2", "avx2"));
  EXPECT_THAT(isa_from_cpuinfo("flags_of_another_kind : sse2\n"), testing::IsEmpty());
  EXPECT_THAT(isa_from_cpuinfo(""), testing::IsEmpty());
}

TEST(Isa, ThisCpuHasNothingThatTheKernelDoesNotList) {
  Result<std::string> cpuinfo = read_file("/proc/cpuinfo");
  if (!cpuinfo) GTEST_SKIP() << cpuinfo.error().message;
  std::vector<std::string> listed = isa_from_cpuinfo(*cpuinfo);
  for (const std::string& name : this_isa()) EXPECT_THAT(listed, Contains(name));
}

}  // namespace
}  // namespace ridge::machine
