// The loops that measure peak arithmetic rates: multiply-adds on registers only, with enough independent accumulators
// to keep every unit busy in every cycle. Each loop is one block of assembly, so no compiler flag or build type changes
// it, and the instruction set needs no compiler support: dispatch is at run time.
//
// Counting: 1 multiply-add = 2 FLOPs, also for integers; a dot-product instruction counts every product it adds up.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/units.h"

namespace ridge::limits {

struct PeakKernel {
  Precision precision;
  const char* name;                         // "avx512f vfmadd231ps, 12 zmm accumulators"
  std::vector<const char*> needs;           // all of these ISA names must be present
  std::vector<const char*> pointless_with;  // any of these makes the kernel a certain loser
  double flops_per_iteration;
  void (*run)(int64_t iterations);  // iterations ≥ 1
};

// All kernels for the architecture of this build; may be empty.
std::span<const PeakKernel> peak_kernels();

// The kernels worth running with `isa`: instructions the CPU lacks are not emulated.
std::vector<const PeakKernel*> peak_kernels_for(const std::vector<std::string>& isa);

// Selects among kernels with `needs` and `pointless_with`.
template <typename Kernel>
std::vector<const Kernel*> worth_running(std::span<const Kernel> kernels, const std::vector<std::string>& isa) {
  auto present = [&](const char* name) { return std::find(isa.begin(), isa.end(), name) != isa.end(); };
  std::vector<const Kernel*> chosen;
  for (const Kernel& kernel : kernels)
    if (std::ranges::all_of(kernel.needs, present) && std::ranges::none_of(kernel.pointless_with, present))
      chosen.push_back(&kernel);
  return chosen;
}

// Runs `additions` dependent additions: one per cycle on every x86-64 core of the last fifteen years (latency of ADD
// r64, r64: Agner Fog, instruction tables), so additions per second is the clock in Hz. A multiple of 1024. Returns
// false on other architectures.
bool run_addition_chain(int64_t additions);

}  // namespace ridge::limits
