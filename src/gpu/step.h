// What a program does around its kernels, in the terms that CUDA and OpenCL share: copies between memories of several kinds, new
// memory in the course of the work, and several queues (CUDA's streams) side by side. Plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>

#include "gpu/launch.h"

namespace ridge::gpu {

enum class MemoryKind {
  kDevice,   // the device's own
  kHost,     // any array of the process; kernels cannot take it
  kPinned,   // the process's, kept in place so that the device fetches from it by itself; kernels cannot take it
  kUnified,  // under one address for both, moved by the driver as it is touched: CUDA's managed memory, OpenCL's SVM
};

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

namespace cuda {
enum class ProductPrecision;  // gpu/cuda/cublaslt.h
}

// d = a · b of squares by the vendor's own library: a and d row by row, d in FP32. On CUDA GPUs with cuBLASLt.
struct LibraryProduct {
  BufferNumber a, b, d;
  cuda::ProductPrecision precision;
  int64_t size = 0;
  bool b_by_columns = false;  // else row by row
};

using Operation = std::variant<Launch, Copy, Prefetch, Reallocate, LibraryProduct>;

// Steps of a queue run one after another, those of different queues in any order or at the same time.
struct Step {
  Operation operation;
  size_t queue = 0;
};

}  // namespace ridge::gpu
