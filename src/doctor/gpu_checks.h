// Judges a management library's report on one GPU of any vendor, and on all of NVIDIA's. Pure.
#pragma once

#include <string>
#include <string_view>

#include "doctor/areas.h"
#include "gpu/gpu.h"
#include "machine/pci_gpus.h"

namespace ridge::doctor {

// A GPU with its vendor, and so with the words and tools for it.
struct GpuOfVendor {
  const gpu::Gpu& gpu;
  machine::GpuVendor vendor;
};

// A GPU's report by its library, and its PCI address (empty: unknown).
struct GpuFindings {
  std::string address;
  Findings findings;
};

// Name of a vendor's management library, as origin of findings: "NVML".
std::string_view library_name(machine::GpuVendor vendor);

// A finding whose id and title name the GPU: NVIDIA's by its index ("gpu.0.link", "PCIe link of GPU 0 (…)"), others by
// their address ("gpu.0000:18:00.0.link", "PCIe link of … at 0000:18:00.0").
Finding about_gpu(const GpuOfVendor& known, std::string_view id, std::string_view what);

Finding judge_answer(const GpuOfVendor& known);
Finding judge_slowdown(const GpuOfVendor& known);
Finding judge_ecc(const GpuOfVendor& known);
Finding judge_gpu_link(const GpuOfVendor& known);
Finding judge_use(const GpuOfVendor& known);
Finding judge_power_limit(const GpuOfVendor& known);

struct NvidiaFindings {
  Findings of_system;  // the library itself, and what CUDA may see
  std::vector<GpuFindings> of_gpus;
};

// Judges GPUs and their links (NVLink). `on_bus`: an NVIDIA GPU is on the PCI bus: a missing library is a fault.
NvidiaFindings judge_nvidia_gpus(const machine::Tree& tree, bool on_bus);

// Merges the findings of the bus and of the libraries. Where both cover the same aspect of a GPU (its link or errors),
// the worse verdict stays; with equal ones the library's, which knows more.
Findings one_per_matter(Findings bus, std::vector<GpuFindings> gpus);

}  // namespace ridge::doctor
