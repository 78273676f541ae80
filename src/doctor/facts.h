// All facts that the doctor judges: what was read and measured on a machine, with reasons for missing parts. A plain
// value; judging reads nothing else.
#pragma once

#include <optional>
#include <string>

#include "machine/kernel_gpus.h"
#include "machine/machine.h"
#include "machine/tree.h"

namespace ridge::doctor {

// Entries of the tree that are not system files. Tool output is verbatim; the others are JSON.
namespace entry {
inline constexpr const char* kMachine = "tools/machine";  // machine::Machine, with measured limits where there are any
inline constexpr const char* kEnvironment = "tools/environment";       // NAME=value lines, those variables that matter
inline constexpr const char* kFileSystems = "tools/file_systems";      // lines: path total_bytes free_bytes
inline constexpr const char* kMemoryModules = "tools/memory_modules";  // of SMBIOS, see memory_modules.h
inline constexpr const char* kOutputs = "tools/outputs";  // folder: what other tools printed, see tool_output.h
inline constexpr const char* kNvml = "tools/nvml";        // gpu::GpuSystem
inline constexpr const char* kCuda = "tools/cuda";        // list of gpu::CudaDevice, by the driver's library
inline constexpr const char* kGpuCounters = machine::kGpuCounters;  // see gpu_counters.h
inline constexpr const char* kPciNames = machine::kPciNames;        // see pci_names.h
inline constexpr const char* kNvidiaSmi = "tools/nvidia-smi";       // output of nvidia-smi -L
inline constexpr const char* kLibraries = "tools/libraries";        // lines: name, "loaded" or the reason
inline constexpr const char* kKernelLog = "tools/kernel_log";       // lines: "[seconds] message"
inline constexpr const char* kInstalled = "tools/installed";        // lines: paths of GPU libraries and python packages
inline constexpr const char* kEngines = "tools/engines";            // see engines.h
inline constexpr const char* kTime = "tools/time";                  // see clocks.h
inline constexpr const char* kOthers = "tools/others";              // machine::Disturbance while the doctor looked
}  // namespace entry

struct Facts {
  machine::Tree tree;
  std::optional<machine::Machine> machine;
  std::string machine_reason;  // why there is none
};

}  // namespace ridge::doctor
