#include "engine/openvino/instruction_sets.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <string_view>

#if defined(__x86_64__)
#include <cpuid.h>

#include "base/letter_case.h"
#endif

namespace ridge::engine::openvino {
namespace {

// oneDNN's caps, "CPU dispatcher control" of its developer guide, with the remaining instructions.
struct Cap {
  std::string_view name;
  bool bf16;
  bool fp16;
};
constexpr std::array<Cap, 13> kCaps = {{{"SSE41", false, false},
                                        {"AVX", false, false},
                                        {"AVX2", false, false},
                                        {"AVX2_VNNI", false, false},
                                        {"AVX2_VNNI_2", true, true},
                                        {"AVX512_CORE", false, false},
                                        {"AVX512_CORE_VNNI", false, false},
                                        {"AVX512_CORE_BF16", true, false},
                                        {"AVX512_CORE_FP16", true, true},
                                        {"AVX10_1_512", true, true},
                                        {"AVX512_CORE_AMX", true, true},
                                        {"AVX10_1_512_AMX", true, true},
                                        {"AVX512_CORE_AMX_FP16", true, true}}};

// An unknown name caps nothing, as in oneDNN.
const Cap* cap_of(std::string_view text) {
  const std::string name = upper_case(text);
  auto found = std::find_if(kCaps.begin(), kCaps.end(), [&](const Cap& cap) { return cap.name == name; });
  return found == kCaps.end() ? nullptr : &*found;
}

std::optional<std::string> capped(const InstructionSets& sets, bool allowed, const char* what) {
  if (allowed) return std::nullopt;
  return "the environment variable ONEDNN_MAX_CPU_ISA=" + sets.cap + " keeps the engine from using the " + what +
         " instructions; unset it";
}

}  // namespace

InstructionSets instruction_sets() {
  InstructionSets sets;
#if defined(__x86_64__)
  sets.known = true;
  // Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2A, CPUID leaf 07H.
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) != 0) {
    sets.amx_bf16 = (d >> 22 & 1) != 0;
    sets.avx512_fp16 = (d >> 23 & 1) != 0;
  }
  if (__get_cpuid_count(7, 1, &a, &b, &c, &d) != 0) {
    sets.avx_vnni = (a >> 4 & 1) != 0;
    sets.avx512_bf16 = (a >> 5 & 1) != 0;
    sets.amx_fp16 = (a >> 21 & 1) != 0;
    sets.avx_ne_convert = (d >> 5 & 1) != 0;
  }
#endif
  for (const char* name : {"DNNL_MAX_CPU_ISA", "ONEDNN_MAX_CPU_ISA"})
    if (const char* value = std::getenv(name)) sets.cap = value;
  return sets;
}

std::optional<std::string> missing_for(Precision precision, const InstructionSets& sets) {
  const Cap* cap = sets.cap.empty() ? nullptr : cap_of(sets.cap);
  switch (precision) {
    case Precision::kFp32:
    case Precision::kInt8: return std::nullopt;
    case Precision::kBf16:
      if (sets.known && !sets.avx512_bf16 && !sets.amx_bf16 && !sets.avx_ne_convert)
        return "this CPU has neither AVX512_BF16 nor AMX-BF16";
      return cap == nullptr ? std::nullopt : capped(sets, cap->bf16, "BF16");
    case Precision::kFp16:
      if (sets.known && !sets.avx512_fp16 && !sets.amx_fp16) return "this CPU has neither AVX512_FP16 nor AMX-FP16";
      return cap == nullptr ? std::nullopt : capped(sets, cap->fp16, "FP16");
    default: return "OpenVINO's CPU device computes in fp32, bf16, fp16 and int8 only";
  }
}

}  // namespace ridge::engine::openvino
