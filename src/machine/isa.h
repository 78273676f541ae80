// Which instruction sets this CPU has and the system lets programs use.
//
// A flag of CPUID alone is not enough: the operating system must save the registers on a context switch (XCR0), and for
// AMX it must also grant permission to the process. Names are the kernel's (/proc/cpuinfo) with "sse4.2" for sse4_2.
// Source of the bits: Intel SDM volume 2A, CPUID; AMD APM volume 3, appendix E.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ridge::machine {

// The deciding registers, so that the decision can be tested without the CPU.
struct CpuidWords {
  uint32_t leaf1_ecx = 0, leaf1_edx = 0;
  uint32_t leaf7_ebx = 0, leaf7_ecx = 0, leaf7_edx = 0;  // sub-leaf 0
  uint32_t leaf7_1_eax = 0;                              // sub-leaf 1
  uint64_t xcr0 = 0;                                     // register states that the system saves
  bool amx_permitted = false;
};

std::vector<std::string> isa_from_cpuid(const CpuidWords& words);

// Asks the CPU, and the system for permission to use AMX if it has any (inherited by threads started later).
std::vector<std::string> this_isa();

// The entries of `isa` within a cap, to measure the limits of an equally capped engine (RIDGE_MAX_CPU_ISA beside
// ONEDNN_MAX_CPU_ISA). Names are oneDNN's (developer guide, "CPU Dispatcher Control"), in any case: SSE41, AVX, AVX2,
// AVX2_VNNI, AVX512_CORE, AVX512_CORE_VNNI, AVX512_CORE_BF16, AVX512_CORE_FP16, AVX512_CORE_AMX; each includes those
// before it. Errors: another name.
Result<std::vector<std::string>> isa_up_to(const std::string& cap, const std::vector<std::string>& isa);

// Reads the text of /proc/cpuinfo: its first "flags" line (x86) or "Features" line (Arm).
std::vector<std::string> isa_from_cpuinfo(std::string_view cpuinfo);

}  // namespace ridge::machine
