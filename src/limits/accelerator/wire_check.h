// What GPUs send each other in a measurement, and whether it arrived. Private to limits/accelerator.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/result.h"
#include "gpu/nccl/group.h"
#include "gpu/nccl/nccl.h"

namespace ridge::limits::accelerator {

// The value that GPU `GPU` sends at place `at`: a whole number from -8 to 8, so that sums of any order are exact; neither a shift nor
// another GPU's values look the same.
float sent_value(size_t gpu, int64_t at);
// What must then lie at that place of a GPU after an operation on `count` values.
float arrived_value(gpu::nccl::Collective collective, size_t gpus, size_t gpu, int64_t at, int64_t count);

Status send_pattern(gpu::nccl::NcclGroup& group);  // fills the first buffers
// Does the operation once, into spoiled buffers, and looks at what arrived: at all of up to 4 MiB on each GPU, of more at the
// beginning, the middle and the end.
Status check_arrived(gpu::nccl::NcclGroup& group, gpu::nccl::Collective collective, size_t bytes);

}  // namespace ridge::limits::accelerator
