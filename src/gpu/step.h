// What a program does around its kernels, in the terms that CUDA and OpenCL share: copies between memories of several kinds, new
// memory in the course of the work, and several queues (CUDA's streams) side by side. Plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>

#include "gpu/gemm.h"
#include "gpu/launch.h"

namespace ridge::gpu {

// All of one buffer to another, of the same size at least, or the part of `count` floats from `first` in both. Into and out of
// unified memory the host itself writes and reads, when all that was queued before it in its queue is done.
struct Copy {
  BufferNumber from, to;
  size_t first = 0, count = 0;  // count 0: all of it
};

// Has the driver move unified memory to the device or to the host before it is touched there.
struct Prefetch {
  BufferNumber buffer;
  bool to_device = true;
};

// Gives the memory of a buffer (kDevice) back and takes as much again; the content is lost. Pooled: from memory that the process keeps
// for that (CUDA's stream-ordered pool; in OpenCL, which has none, buffers that were given back), else from the driver.
struct Reallocate {
  BufferNumber buffer;
  bool pooled = false;
};

// d = a · b by the vendor's own library, by the fastest of its algorithms. CUDA only.
struct Gemm {
  BufferNumber a, b, d;
  GemmProblem problem;
};

// Launches that a workspace has recorded, started as one: a CUDA graph.
struct Recording {
  size_t value = 0;
};

// What is queued next waits for all that `queue` was given before. CUDA only.
struct WaitFor {
  size_t queue = 0;
};

using Operation = std::variant<Launch, Copy, Prefetch, Reallocate, Gemm, Recording, WaitFor>;

// Steps of a queue run one after another, those of different queues in any order or at the same time.
struct Step {
  Operation operation;
  size_t queue = 0;
};

}  // namespace ridge::gpu
