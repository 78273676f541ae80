// Copies between host and device, in the terms that CUDA and OpenCL share. Plain values.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "base/name_table.h"

namespace ridge::gpu {

enum class Way { kToDevice, kToHost, kBoth };  // kBoth: at the same time, as many bytes each way
// Of the host's side: any memory of a program, or memory that stays where it is, which the device reads by itself.
enum class HostMemory { kPageable, kPinned };

constexpr std::array<std::pair<Way, std::string_view>, 3> kWays = {
    {{Way::kToDevice, "host to device"}, {Way::kToHost, "device to host"}, {Way::kBoth, "both at once"}}};
constexpr std::array<std::pair<HostMemory, std::string_view>, 2> kHostMemories = {
    {{HostMemory::kPageable, "pageable"}, {HostMemory::kPinned, "pinned"}}};

inline NameTable<Way> names_of(Way) { return kWays; }
inline NameTable<HostMemory> names_of(HostMemory) { return kHostMemories; }
inline std::string_view way_name(Way way) { return ridge::name_of(kWays, way); }
inline std::string_view host_memory_name(HostMemory memory) { return ridge::name_of(kHostMemories, memory); }

}  // namespace ridge::gpu
