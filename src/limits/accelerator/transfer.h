// Copies between host and device as limits name them. Plain values.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "base/name_table.h"
#include "gpu/launch.h"

namespace ridge::limits::accelerator {

enum class Way { kToDevice, kToHost, kBoth };  // kBoth: at the same time, as many bytes each way

constexpr std::array<std::pair<Way, std::string_view>, 3> kWays = {
    {{Way::kToDevice, "host to device"}, {Way::kToHost, "device to host"}, {Way::kBoth, "both at once"}}};
// Of the host's side.
constexpr std::array<std::pair<gpu::MemoryKind, std::string_view>, 2> kHostMemories = {
    {{gpu::MemoryKind::kHost, "pageable"}, {gpu::MemoryKind::kPinned, "pinned"}}};

inline std::string_view way_name(Way way) { return ridge::name_of(kWays, way); }
inline std::string_view host_memory_name(gpu::MemoryKind memory) { return ridge::name_of(kHostMemories, memory); }
inline Result<Way> way_from_name(std::string_view name) { return ridge::from_name<Way>(kWays, name, "way"); }
inline Result<gpu::MemoryKind> host_memory_from_name(std::string_view name) {
  return ridge::from_name<gpu::MemoryKind>(kHostMemories, name, "host memory");
}

}  // namespace ridge::limits::accelerator
