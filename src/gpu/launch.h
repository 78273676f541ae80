// What to start on a device, in the terms that CUDA and OpenCL share: a block of threads is OpenCL's work-group. Plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace ridge::gpu {

struct Extent {
  size_t x = 1, y = 1, z = 1;
};

enum class MemoryKind {
  kDevice,   // the device's own
  kHost,     // any array of the process; kernels cannot take it
  kPinned,   // the process's, kept in place so that the device fetches from it by itself; kernels cannot take it
  kUnified,  // under one address for both, moved by the driver as it is touched: CUDA's managed memory, OpenCL's SVM
};

// A buffer of a workspace, by the number that it got when it was made.
struct BufferNumber {
  size_t value = 0;
};
using Argument = std::variant<BufferNumber, int32_t, float>;

struct Launch {
  std::string kernel;
  Extent blocks;   // in the grid
  Extent threads;  // per block
  std::vector<Argument> arguments;
  size_t dynamic_shared_bytes = 0;  // per block, beside what the kernel declares; CUDA only
};

// How long launches took that were queued together.
struct LaunchTime {
  // By the device's own clock. OpenCL: the sum over the launches; CUDA: from before the first to after the last, with the
  // gaps between them (about a microsecond each, while the queue does not run empty).
  double device_seconds = 0;  // 0: nothing was timed by the device
  double whole_seconds = 0;   // from before the first is queued until all have ended, by the host's clock
};

}  // namespace ridge::gpu
