// NVIDIA's GPUs through the driver's library (libcuda.so.1), opened at run time: their properties and contexts. A
// missing or old library, no GPUs and lost GPUs are values with a reason. The build needs nothing of CUDA. For the
// state of GPUs see gpu/nvml/nvml.h.
//
// Thread-safe, except its objects, which are used by one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/result.h"
#include "gpu/cuda/context.h"
#include "gpu/device.h"

namespace ridge::gpu::cuda {

struct CudaDevice {
  std::string problem;  // why this GPU cannot be used; empty: it can. Unknown numbers are then 0
  std::string name;
  std::string pci_address;  // as in /sys/bus/pci/devices
  std::string uuid;         // "GPU-…"
  std::string mig_uuid;     // "MIG-…" where it is an instance of a divided GPU, else empty
  int capability = 0;       // compute capability: 89 is 8.9
  int64_t memory_bytes = 0;
  int64_t l2_bytes = 0;
  int64_t multiprocessors = 0;
  int64_t warp = 0;               // threads
  int64_t threads_per_block = 0;  // upper limit, like the following
  int64_t threads_per_multiprocessor = 0;
  int64_t registers_per_block = 0, registers_per_multiprocessor = 0;  // of 32 bits
  int64_t shared_bytes_per_block = 0, shared_bytes_per_block_opt_in = 0, shared_bytes_per_multiprocessor = 0;
  double clock_hz = 0;         // highest of the multiprocessors
  double memory_clock_hz = 0;  // highest; two transfers per cycle
  int64_t memory_bus_bits = 0;
  int64_t copy_engines = 0;  // copies that run beside kernels, at the same time
  bool integrated = false;   // shares the CPU's memory
  bool unified_addressing = false, managed_memory = false, concurrent_managed_access = false, memory_pools = false;
  bool ecc = false;
  bool exclusive = false;  // compute mode: one process at a time, or none
};
std::string capability_text(const CudaDevice& device);  // "8.9"
// Members that an older program has not recorded may be missing.
void visit_fields(auto& visit, Is<CudaDevice> auto& device) {
  visit.or_null("problem", device.problem);
  visit.optional("name", device.name);
  visit.optional("pci_address", device.pci_address);
  visit.optional("uuid", device.uuid);
  visit.or_null("mig_uuid", device.mig_uuid);
  visit.derived("compute_capability", capability_text(device));
  visit.optional("memory_bytes", device.memory_bytes);
  visit.optional("l2_bytes", device.l2_bytes);
  visit.optional("multiprocessors", device.multiprocessors);
  visit.optional("warp", device.warp);
  visit.optional("threads_per_block", device.threads_per_block);
  visit.optional("threads_per_multiprocessor", device.threads_per_multiprocessor);
  visit.optional("registers_per_block", device.registers_per_block);
  visit.optional("registers_per_multiprocessor", device.registers_per_multiprocessor);
  visit.optional("shared_bytes_per_block", device.shared_bytes_per_block);
  visit.optional("shared_bytes_per_block_opt_in", device.shared_bytes_per_block_opt_in);
  visit.optional("shared_bytes_per_multiprocessor", device.shared_bytes_per_multiprocessor);
  visit.optional("clock_hz", device.clock_hz);
  visit.optional("memory_clock_hz", device.memory_clock_hz);
  visit.optional("memory_bus_bits", device.memory_bus_bits);
  visit.optional("copy_engines", device.copy_engines);
  visit.optional("integrated", device.integrated);
  visit.optional("unified_addressing", device.unified_addressing);
  visit.optional("managed_memory", device.managed_memory);
  visit.optional("concurrent_managed_access", device.concurrent_managed_access);
  visit.optional("memory_pools", device.memory_pools);
  visit.optional("ecc", device.ecc);
  visit.optional("exclusive", device.exclusive);
}

// Handle of the open library; copies share it.
class Cuda {
 public:
  // `library`: a path; empty: the environment variable RIDGE_CUDA, else libcuda.so.1 by the loader's search. The error
  // says says if there is no driver (kNotFound), no GPU or a driver that does not start (kUnavailable), or it is too
  // old (kUnsupported).
  static Result<Cuda> open(const std::string& library = "");

  const std::vector<CudaDevice>& devices() const { return devices_; }  // at least one
  int driver_version() const { return driver_version_; }               // of CUDA, in the driver's form: 13010 is 13.1
  std::string driver_version_text() const;                             // "13.1"

  std::vector<DeviceFacts> facts() const;  // of all of them

  // kNotFound: the index is too large; kUnavailable: it cannot be used, with the reason.
  Status check_usable(size_t index) const;
  // Errors: as check_usable.
  Result<CudaContext> context(size_t index) const;
  Result<gpu::Device> device(size_t index) const;

 private:
  explicit Cuda(std::shared_ptr<const cuda::Library> library) : library_(std::move(library)) {}
  std::shared_ptr<const cuda::Library> library_;
  std::vector<CudaDevice> devices_;
  int driver_version_ = 0;
};

}  // namespace ridge::gpu::cuda
