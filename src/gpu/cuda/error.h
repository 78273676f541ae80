// The driver's error codes in words: the driver's own name and text, and a remedy for the usual ones. Pure.
#pragma once

#include "base/result.h"

namespace ridge::gpu::cuda {

struct Library;

// kExhausted: out of memory; kUnavailable: no usable GPU, or a lost one; kUnsupported: the driver or the GPU cannot do
// that; kInvalid: the machine code or PTX is wrong; else kFailed.
Error cuda_error(const cuda::Library& library, const char* function, int code);

// The call's outcome as a status.
Status cuda_status(const cuda::Library& library, const char* function, int code);

}  // namespace ridge::gpu::cuda
