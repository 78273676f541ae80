// Copies between host and device, in the terms that CUDA and OpenCL share. Plain values.
#pragma once

#include <string_view>

namespace ridge::gpu {

enum class Way { kToDevice, kToHost, kBoth };  // kBoth: at the same time, as many bytes each way
// Of the host's side: any memory of a program, or memory that stays where it is, which the device reads by itself.
enum class HostMemory { kPageable, kPinned };

inline std::string_view way_name(Way way) {
  return way == Way::kToDevice ? "host to device" : way == Way::kToHost ? "device to host" : "both at once";
}
inline std::string_view host_memory_name(HostMemory memory) {
  return memory == HostMemory::kPinned ? "pinned" : "pageable";
}

}  // namespace ridge::gpu
