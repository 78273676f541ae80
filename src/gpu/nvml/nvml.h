// NVIDIA's management library (NVML), opened at run time: the GPUs, their state, and their power limit, which it can
// change. A missing or old library, missing permission and lost GPUs are values with a reason. Thread-safe, like the
// library itself; a call into a broken driver may hang, so call it in a child process (base/child_process.h) where that
// matters.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "gpu/gpu.h"

namespace ridge::gpu::nvml {

struct Library;  // the typed table of functions, nvml.cc

// Move-only owner of the open and initialised library.
class Nvml {
 public:
  // `library`: a path; empty: the environment variable RIDGE_NVML, else libnvidia-ml.so.1 by the loader's search. The
  // error says if there is no library (kNotFound: no NVIDIA driver here, or not visible in this container), it is
  // too old (kUnsupported), or it refuses to start (kUnavailable: module not loaded, versions differ).
  static Result<Nvml> open(const std::string& library = "");

  Nvml(Nvml&& other) noexcept;
  Nvml& operator=(Nvml&& other) noexcept;
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;
  ~Nvml();

  Result<int> count() const;  // of GPUs known to the driver, including lost ones
  // Everything about one GPU, 0 ≤ index < count(); takes some milliseconds.
  Gpu gpu(int index) const;
  // Identity and fast-changing values (use, memory, power, heat, clocks, slowdown); nothing else is queried. For
  // frequent sampling: all values of a GPU take a hundred queries, and more with its links.
  Gpu vitals(int index) const;
  // All energy that the GPU has used since the driver was loaded: GPU::energy_mj, queried alone.
  Reading<int64_t> energy_mj(int index) const;
  // The whole system: versions and all GPUs.
  GpuSystem system() const;

  // A change, which lasts until the driver releases the GPU; only administrators may make it. Errors say what was
  // tried, NVML's answer and the remedy: kInvalid for a value that the GPU refuses, kUnsupported for a GPU or library
  // that cannot, kUnavailable for the rest (no permission, lost GPU).
  Status set_power_limit(int index, int64_t limit_mw) const;

 private:
  explicit Nvml(std::unique_ptr<nvml::Library> library);
  std::unique_ptr<nvml::Library> library_;
};

// Converts the library's address ("00000000:3B:00.0") to the form of /sys/bus/pci/devices ("0000:3b:00.0").
std::string sysfs_pci_address(std::string_view library_address);

}  // namespace ridge::gpu::nvml
