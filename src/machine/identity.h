// The name under which a machine's measured limits and tuning results are kept: the same on every run of one
// configuration, different as soon as something changes that could change the limits.
#pragma once

#include <string>

#include "machine/machine.h"

namespace ridge::machine {

// Raise when kernels or method change and earlier figures are no longer comparable.
constexpr int kLimitsVersion = 3;

// "amd-epyc-9b45-2c-0123456789abcdef": a readable prefix and a hash of CPU, instruction sets, caches, cores, allowed
// CPUs, quota, system and kLimitsVersion. Memory in use, CPU numbers (containers move) and results do not count.
std::string machine_id(const Machine& machine);

}  // namespace ridge::machine
