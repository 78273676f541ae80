// Judges what NVIDIA's management library reports on the GPUs and their direct links (NVLink). Pure.
#pragma once

#include "doctor/areas.h"
#include "doctor/gpu_checks.h"

namespace ridge::doctor {

struct NvidiaFindings {
  Findings of_system;  // the library itself, and what CUDA may see
  std::vector<GpuFindings> of_gpus;
};

// `on_bus`: an NVIDIA GPU is on the PCI bus, so that a missing library is a fault.
NvidiaFindings judge_nvidia_gpus(const machine::Tree& tree, bool on_bus);

}  // namespace ridge::doctor
