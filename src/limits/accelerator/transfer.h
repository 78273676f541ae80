// Directions of copies between host and device. Plain values.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "base/name_table.h"
#include "gpu/launch.h"

namespace ridge::limits::accelerator {

enum class Way { kToDevice, kToHost, kBoth };  // kBoth: simultaneous, the same number of bytes each way

constexpr std::array<std::pair<Way, std::string_view>, 3> kWays = {
    {{Way::kToDevice, "host to device"}, {Way::kToHost, "device to host"}, {Way::kBoth, "both at once"}}};
inline NameTable<Way> names_of(Way) { return kWays; }

inline std::string_view way_name(Way way) { return ridge::name_of(kWays, way); }
inline std::string_view host_memory_name(gpu::MemoryKind memory) { return ridge::name_of(names_of(memory), memory); }

}  // namespace ridge::limits::accelerator
