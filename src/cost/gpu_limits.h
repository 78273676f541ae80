// Limits of a GPU in this machine: measured ones (ridge bench device), the datasheet's for the rest, with origin.
#pragma once

#include "base/result.h"
#include "cost/costs.h"
#include "limits/nvidia_gpu.h"

namespace ridge::cost {

// A peak counts as measured if the kernel can reach the GPU's full rate: for types that its tensor cores multiply, on
// the tensor cores; on Hopper and data-centre Blackwell by the vendor's library, as mma.sync does not fill them (data/
// compute_capability.csv; PTX ISA 8.7, wgmma and tcgen05). On GeForce RTX 20 to 50 measurements accumulate in FP32, and
// an engine that accumulates in FP16 is faster: with Accumulate::kAny their datasheet's FP16 and FP8 stay. Remarks say
// when and under which setting limits were measured, or why not and which command would measure them; which lie well
// below the datasheet; and what slowed the GPU meanwhile. Error: neither datasheet nor measurement gives a bandwidth
// and a peak.
Result<DeviceLimits> limits_of(const limits::NvidiaGpu& gpu, Accumulate accumulate = Accumulate::kAny);

}  // namespace ridge::cost
