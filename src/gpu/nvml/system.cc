#include "gpu/nvml/system.h"

#include <fmt/format.h>

namespace ridge::gpu::nvml {
namespace {

GpuSlice read_slice(const Library& library, Device device, int index) {
  GpuSlice slice;
  slice.index = index;
  Reader reader(library, device);
  slice.uuid = reader.text(library.nvmlDeviceGetUUID);
  slice.name = reader.text(library.nvmlDeviceGetName);
  slice.gpu_instance = reader.number<unsigned>(library.nvmlDeviceGetGpuInstanceId);
  slice.compute_instance = reader.number<unsigned>(library.nvmlDeviceGetComputeInstanceId);
  Error error;
  DeviceAttributes attributes{};
  if (reader.ask(error, library.nvmlDeviceGetAttributes_v2, &attributes)) {
    slice.gpu_slices = int64_t{attributes.gpu_slices};
    slice.compute_slices = int64_t{attributes.compute_slices};
    slice.multiprocessors = int64_t{attributes.multiprocessors};
  } else {
    slice.gpu_slices = slice.compute_slices = slice.multiprocessors = error;
  }
  MemoryInfo memory{};
  if (reader.ask(error, library.nvmlDeviceGetMemoryInfo, &memory)) {
    slice.memory_total_bytes = static_cast<int64_t>(memory.total);
    slice.memory_used_bytes = static_cast<int64_t>(memory.used);
  } else {
    slice.memory_total_bytes = slice.memory_used_bytes = error;
  }
  return slice;
}

// nvmlGpuTopologyLevel_t, in the terms of nvidia-smi topo.
Reading<std::string> level_name(int level) {
  switch (level) {
    case kSameBoard: return std::string("X");
    case kOneSwitch: return std::string("PIX");
    case kSeveralSwitches: return std::string("PXB");
    case kHostBridge: return std::string("PHB");
    case kSameNode: return std::string("NODE");
    case kSystem: return std::string("SYS");
    default: return Error{Code::kUnsupported, fmt::format("NVML's topology level {} is not known", level)};
  }
}

GpuPair read_pair(const Library& library, int first, int second) {
  GpuPair pair{first, second, {}};
  Device one = nullptr, other = nullptr;
  const auto& handle = library.nvmlDeviceGetHandleByIndex_v2;
  int code = handle(static_cast<unsigned>(first), &one);
  if (code == kSuccess) code = handle(static_cast<unsigned>(second), &other);
  if (code != kSuccess) {
    pair.level = library.error(handle.name(), code);
    return pair;
  }
  int level = 0;
  const auto& ask = library.nvmlDeviceGetTopologyCommonAncestor;
  code = ask(one, other, &level);
  pair.level = code == kSuccess ? level_name(level) : Reading<std::string>(library.error(ask.name(), code));
  return pair;
}

}  // namespace

// Source: nvml.h, NVML_DEVICE_ARCH_*.
Reading<std::string> architecture_name(const Reading<int64_t>& number) {
  if (!number) return Error{Code::kUnavailable, number.reason};
  switch (*number) {
    case 2: return std::string("Kepler");
    case 3: return std::string("Maxwell");
    case 4: return std::string("Pascal");
    case 5: return std::string("Volta");
    case 6: return std::string("Turing");
    case 7: return std::string("Ampere");
    case 8: return std::string("Ada Lovelace");
    case 9: return std::string("Hopper");
    case 10: return std::string("Blackwell");
    case 13: return std::string("Rubin");
    default:
      return Error{Code::kUnsupported, fmt::format("NVML's architecture {} is newer than this program", *number)};
  }
}

std::vector<GpuSlice> slices_of(const Library& library, Device gpu) {
  unsigned most = 0;
  std::vector<GpuSlice> slices;
  if (!library.nvmlDeviceGetMaxMigDeviceCount || !library.nvmlDeviceGetMigDeviceHandleByIndex) return slices;
  if (library.nvmlDeviceGetMaxMigDeviceCount(gpu, &most) != kSuccess) return slices;
  for (unsigned i = 0; i < most; ++i) {
    Device device = nullptr;
    if (library.nvmlDeviceGetMigDeviceHandleByIndex(gpu, i, &device) == kSuccess)
      slices.push_back(read_slice(library, device, static_cast<int>(i)));
  }
  return slices;
}

std::vector<GpuPair> pairs_of(const Library& library, int count) {
  std::vector<GpuPair> pairs;
  if (!library.nvmlDeviceGetTopologyCommonAncestor) return pairs;
  for (int first = 0; first < count; ++first)
    for (int second = first + 1; second < count; ++second) pairs.push_back(read_pair(library, first, second));
  return pairs;
}

}  // namespace ridge::gpu::nvml
