// The data that GPUs exchange in a measurement, and the check of its arrival. Private to limits/accelerator.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "gpu/nccl/group.h"
#include "gpu/nccl/nccl.h"

namespace ridge::limits::accelerator {

// The value that GPU `gpu` sends at index `at`: an integer from -8 to 8, so that sums in any order are exact; shifted data and
// another GPU's data are distinguishable.
float sent_value(size_t gpu, int64_t at);
// The expected value at that index of a GPU after an operation on `count` values.
float arrived_value(gpu::nccl::Collective collective, size_t gpus, size_t gpu, int64_t at, int64_t count);

Status send_pattern(gpu::nccl::NcclGroup& group);  // fills the first buffers
// Runs the operation once into overwritten buffers and checks the result: all of up to 4 MiB on each GPU, of more the
// beginning, the middle and the end.
Status check_arrived(gpu::nccl::NcclGroup& group, gpu::nccl::Collective collective, size_t bytes);

}  // namespace ridge::limits::accelerator
