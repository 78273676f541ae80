// A launch in the terms that CUDA and OpenCL share: a block of threads is OpenCL's work-group. Plain values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/name_table.h"

namespace ridge::gpu {

struct Extent {
  size_t x = 1, y = 1, z = 1;
};

enum class MemoryKind {
  kDevice,   // the device's own
  kHost,     // any array of the process; not accessible to kernels
  kPinned,   // the process's, pinned so that the device can fetch from it; not accessible to kernels
  kUnified,  // one address for both, migrated by the driver on access: CUDA's managed memory, OpenCL's SVM
};
constexpr std::array<std::pair<MemoryKind, std::string_view>, 4> kMemoryKinds = {{{MemoryKind::kDevice, "device"},
                                                                                  {MemoryKind::kHost, "pageable"},
                                                                                  {MemoryKind::kPinned, "pinned"},
                                                                                  {MemoryKind::kUnified, "unified"}}};
inline NameTable<MemoryKind> names_of(MemoryKind) { return kMemoryKinds; }

// A buffer of a workspace, by its creation number.
struct BufferNumber {
  size_t value = 0;
};

// A matrix of 32-bit words in a buffer, of which a kernel copies boxes of `box_rows` rows of 32 words (128 bytes),
// swizzled in shared memory. CUDA only, from compute capability 9.0: a tensor map. The buffer must stay.
struct BoxedMatrix {
  BufferNumber buffer;
  size_t rows = 0, row_words = 0, box_rows = 0;
};
using Argument = std::variant<BufferNumber, int32_t, float, BoxedMatrix>;

struct Launch {
  std::string kernel;
  Extent blocks;   // in the grid
  Extent threads;  // per block
  std::vector<Argument> arguments;
  size_t dynamic_shared_bytes = 0;  // per block, in addition to the kernel's own; CUDA only
};

// The time of launches that were queued together.
struct LaunchTime {
  // By the device's own clock. OpenCL: the sum over the launches; CUDA: from before the first to after the last,
  // including gaps (about a microsecond each, while the queue does not run empty).
  double device_seconds = 0;  // 0: the device timed nothing
  double whole_seconds = 0;   // from before the first is queued until all have ended, by the host's clock
};

}  // namespace ridge::gpu
