#include "machine/isa.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>

#include "base/letter_case.h"
#include "base/proc_text.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace ridge::machine {
namespace {

enum class Word { k1Ecx, k1Edx, k7Ebx, k7Ecx, k7Edx, k71Eax };

// State that the system must save for the instructions: bits of XCR0 (SDM volume 1, 13.3).
constexpr uint64_t kNoState = 0;
constexpr uint64_t kAvxState = 0b110;           // SSE, AVX
constexpr uint64_t kAvx512State = 0b1110'0110;  // and opmask, upper halves, upper registers
constexpr uint64_t kAmxState = 0x60000;         // tile configuration and data

struct Feature {
  const char* name;  // as listed
  const char* flag;  // in /proc/cpuinfo
  Word word;
  int bit;
  uint64_t state;
};

constexpr std::array kFeatures = {
    Feature{"sse2", "sse2", Word::k1Edx, 26, kNoState},
    Feature{"ssse3", "ssse3", Word::k1Ecx, 9, kNoState},
    Feature{"sse4.1", "sse4_1", Word::k1Ecx, 19, kNoState},
    Feature{"sse4.2", "sse4_2", Word::k1Ecx, 20, kNoState},
    Feature{"avx", "avx", Word::k1Ecx, 28, kAvxState},
    Feature{"f16c", "f16c", Word::k1Ecx, 29, kAvxState},
    Feature{"fma", "fma", Word::k1Ecx, 12, kAvxState},
    Feature{"avx2", "avx2", Word::k7Ebx, 5, kAvxState},
    Feature{"avx512f", "avx512f", Word::k7Ebx, 16, kAvx512State},
    Feature{"avx512dq", "avx512dq", Word::k7Ebx, 17, kAvx512State},
    Feature{"avx512bw", "avx512bw", Word::k7Ebx, 30, kAvx512State},
    Feature{"avx512vl", "avx512vl", Word::k7Ebx, 31, kAvx512State},
    Feature{"avx512_vnni", "avx512_vnni", Word::k7Ecx, 11, kAvx512State},
    Feature{"avx512_bf16", "avx512_bf16", Word::k71Eax, 5, kAvx512State},
    Feature{"avx512_fp16", "avx512_fp16", Word::k7Edx, 23, kAvx512State},
    Feature{"avx_vnni", "avx_vnni", Word::k71Eax, 4, kAvxState},
    Feature{"amx_tile", "amx_tile", Word::k7Edx, 24, kAmxState},
    Feature{"amx_bf16", "amx_bf16", Word::k7Edx, 22, kAmxState},
    Feature{"amx_int8", "amx_int8", Word::k7Edx, 25, kAmxState},
    Feature{"amx_fp16", "amx_fp16", Word::k71Eax, 21, kAmxState},
};

// Ascending; a set missing from the table needs none of them.
constexpr std::array<std::string_view, 9> kRungs = {"SSE41",
                                                    "AVX",
                                                    "AVX2",
                                                    "AVX2_VNNI",
                                                    "AVX512_CORE",
                                                    "AVX512_CORE_VNNI",
                                                    "AVX512_CORE_BF16",
                                                    "AVX512_CORE_FP16",
                                                    "AVX512_CORE_AMX"};

struct Rung {
  std::string_view set;  // as listed, or its prefix
  std::string_view cap;  // the lowest that excludes it
};
// The first match counts.
constexpr std::array kNeeded = {Rung{"avx512_vnni", "AVX512_CORE_VNNI"},
                                Rung{"avx512_bf16", "AVX512_CORE_BF16"},
                                Rung{"avx512_fp16", "AVX512_CORE_FP16"},
                                Rung{"avx512", "AVX512_CORE"},
                                Rung{"amx", "AVX512_CORE_AMX"},
                                Rung{"avx_vnni", "AVX2_VNNI"},
                                Rung{"avx2", "AVX2"},
                                Rung{"fma", "AVX2"},
                                Rung{"f16c", "AVX2"},
                                Rung{"avx", "AVX"},
                                Rung{"sse4.2", "AVX"}};

size_t rung(std::string_view cap) {
  return static_cast<size_t>(std::find(kRungs.begin(), kRungs.end(), cap) - kRungs.begin());
}

bool left_by(size_t highest, const std::string& set) {
  for (const Rung& needed : kNeeded)
    if (set.starts_with(needed.set)) return rung(needed.cap) <= highest;
  return true;
}

uint32_t word_of(const CpuidWords& words, Word word) {
  switch (word) {
    case Word::k1Ecx: return words.leaf1_ecx;
    case Word::k1Edx: return words.leaf1_edx;
    case Word::k7Ebx: return words.leaf7_ebx;
    case Word::k7Ecx: return words.leaf7_ecx;
    case Word::k7Edx: return words.leaf7_edx;
    case Word::k71Eax: return words.leaf7_1_eax;
  }
  return 0;
}

#if defined(__x86_64__)

uint64_t read_xcr0() {
  uint32_t low = 0, high = 0;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (static_cast<uint64_t>(high) << 32) | low;
}

// Linux gives a process the tile registers only on request (Documentation/arch/x86/xstate.rst).
bool ask_for_amx() {
  constexpr int kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr int kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

CpuidWords read_cpuid() {
  CpuidWords words;
  uint32_t a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d)) words.leaf1_ecx = c, words.leaf1_edx = d;
  uint32_t subleaves = 0;
  if (__get_cpuid_count(7, 0, &subleaves, &b, &c, &d)) {
    words.leaf7_ebx = b, words.leaf7_ecx = c, words.leaf7_edx = d;
    if (subleaves >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d)) words.leaf7_1_eax = a;
  }
  constexpr uint32_t kOsXsave = 1u << 27;  // XGETBV faults without it
  if (words.leaf1_ecx & kOsXsave) words.xcr0 = read_xcr0();
  constexpr uint32_t kAmxTile = 1u << 24;
  if ((words.leaf7_edx & kAmxTile) && (words.xcr0 & kAmxState) == kAmxState) words.amx_permitted = ask_for_amx();
  return words;
}

#endif

}  // namespace

std::vector<std::string> isa_from_cpuid(const CpuidWords& words) {
  std::vector<std::string> names;
  for (const Feature& feature : kFeatures) {
    bool present = (word_of(words, feature.word) >> feature.bit) & 1u;
    bool saved = (words.xcr0 & feature.state) == feature.state;
    bool permitted = feature.state != kAmxState || words.amx_permitted;
    if (present && saved && permitted) names.emplace_back(feature.name);
  }
  return names;
}

std::vector<std::string> this_isa() {
#if defined(__x86_64__)
  return isa_from_cpuid(read_cpuid());
#else
  return {};
#endif
}

Result<std::vector<std::string>> isa_up_to(const std::string& cap, const std::vector<std::string>& isa) {
  const std::string name = upper_case(cap);
  const size_t highest = rung(name);
  if (highest == kRungs.size())
    return Error{Code::kInvalid,
                 fmt::format("RIDGE_MAX_CPU_ISA is '{}'; one of {} is expected", cap, fmt::join(kRungs, ", "))};
  std::vector<std::string> left;
  std::copy_if(isa.begin(), isa.end(), std::back_inserter(left),
               [&](const std::string& set) { return left_by(highest, set); });
  return left;
}

std::vector<std::string> isa_from_cpuinfo(std::string_view cpuinfo) {
  std::vector<std::string> flags = split_words(line_value(cpuinfo, "flags").value_or(""));
  if (flags.empty()) return split_words(line_value(cpuinfo, "Features").value_or(""));
  std::vector<std::string> names;
  for (const Feature& feature : kFeatures)
    if (std::find(flags.begin(), flags.end(), feature.flag) != flags.end()) names.emplace_back(feature.name);
  return names;
}

}  // namespace ridge::machine
