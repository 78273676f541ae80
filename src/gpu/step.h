// Operations around kernels, in the terms that CUDA and OpenCL share: copies between memories of several kinds,
// allocations during the work, and several queues (CUDA's streams) side by side. Plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>

#include "gpu/gemm.h"
#include "gpu/launch.h"

namespace ridge::gpu {

// All of one buffer to another, of at least the same size, or the part of `count` floats from `first` in both. The host
// itself writes and reads unified memory, after all earlier work in its queue.
struct Copy {
  BufferNumber from, to;
  size_t first = 0, count = 0;  // count 0: all of it
};

// Has the driver migrate unified memory to the device or the host before it is accessed there.
struct Prefetch {
  BufferNumber buffer;
  bool to_device = true;
};

// Releases the memory of a buffer (kDevice) and allocates as much again; the content is lost. Pooled: from memory that
// the process retains (CUDA's stream-ordered pool; in OpenCL released buffers), else from the driver.
struct Reallocate {
  BufferNumber buffer;
  bool pooled = false;
};

// d = a · b by the vendor's own library, with its fastest algorithm. CUDA only.
struct Gemm {
  BufferNumber a, b, d;
  GemmProblem problem;
};

// Recorded launches of a workspace, launched as one: a CUDA graph.
struct Recording {
  size_t value = 0;
};

// Subsequent work waits for all earlier work of `queue`. CUDA only.
struct WaitFor {
  size_t queue = 0;
};

using Operation = std::variant<Launch, Copy, Prefetch, Reallocate, Gemm, Recording, WaitFor>;

// Steps of one queue run in sequence, those of different queues in any order or concurrently.
struct Step {
  Operation operation;
  size_t queue = 0;
};

}  // namespace ridge::gpu
