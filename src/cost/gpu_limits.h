// The limits of a GPU in this machine: what was measured on it (ridge bench device), and its datasheet's figures for the rest; each
// with its origin.
#pragma once

#include "base/result.h"
#include "cost/costs.h"
#include "limits/nvidia_gpu.h"

namespace ridge::cost {

// A peak counts as measured where it was reached in a way that can reach the GPU's full rate: in types that its tensor cores
// multiply by them, and on Hopper and the servers' Blackwell by the vendor's library, as mma.sync does not fill them (data/
// compute_capability.csv; PTX ISA 8.7, wgmma and tcgen05). On GeForce RTX 20 to 50 what is measured adds in FP32, and an engine that
// adds in FP16 is faster: with Accumulate::kAny their datasheet's FP16 and FP8 stay.
// Remarks say what is measured since when and under which setting, or why nothing is and what would measure it; what lies well below
// the datasheet; and what slowed the GPU meanwhile. Error: neither datasheet nor measurement gives a bandwidth and a peak.
Result<DeviceLimits> limits_of(const limits::NvidiaGpu& gpu, Accumulate accumulate = Accumulate::kAny);

}  // namespace ridge::cost
