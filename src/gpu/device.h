// Devices that run kernels, CUDA GPUs and OpenCL devices alike: their properties, and workspaces that compile programs,
// keep buffers and run kernels and copies. Used by everything that measures GPUs (limits/accelerator) or compares
// kernels (lab). Not for the state of GPUs (gpu/gpu_reader.h), nor the driver's own objects (gpu/cuda).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/fields.h"
#include "base/result.h"
#include "gpu/launch.h"
#include "gpu/step.h"

namespace ridge::gpu {

enum class Dialect { kOpenCl, kCuda };  // of gpu/dialect.cu

struct DeviceFacts {
  std::string device;  // as requested: "opencl:0"
  std::string name;
  std::string kind =
      "gpu";  // "cpu": an implementation of OpenCL that uses this machine's CPU; "gpu", "accelerator", "other"
  std::string software;  // the running software, with its version
  Dialect dialect = Dialect::kOpenCl;
  std::string capability;   // of CUDA: "8.9"; else empty
  std::string pci_address;  // "0000:3b:00.0"; empty: not reported
  std::string uuid;         // of CUDA
  int64_t compute_units = 0;
  int64_t threads_per_block = 0;  // at most
  int64_t memory_bytes = 0;
  int64_t largest_buffer_bytes = 0;
  int64_t last_cache_bytes = 0;  // 0: not reported
  double clock_hz = 0;           // highest, as reported
  bool unified_memory = false;   // MemoryKind::kUnified works
  // Lanes of a vector of the hardware (a GPU: 1); 0: not a type of this device.
  int64_t fp64_lanes = 0, fp32_lanes = 0, fp16_lanes = 0;
  bool bf16 = false, integer_dot = false;  // packed BF16 multiply-adds; sums of four products of 8-bit integers
};
void visit_fields(auto& visit, Is<DeviceFacts> auto& facts) {
  visit("device", facts.device);
  visit("name", facts.name);
  visit("kind", facts.kind);
  visit("software", facts.software);
  visit("compute_capability", facts.capability);
  visit("pci_address", facts.pci_address);
  visit("uuid", facts.uuid);
  visit("compute_units", facts.compute_units);
  visit("threads_per_block", facts.threads_per_block);
  visit("memory_bytes", facts.memory_bytes);
  visit("largest_buffer_bytes", facts.largest_buffer_bytes);
  visit("last_cache_bytes", facts.last_cache_bytes);
  visit("clock_hz", facts.clock_hz);
}
bool runs_on_cpu(const DeviceFacts& facts);
int architecture_of(const DeviceFacts& facts);  // 89 of capability "8.9"; 0: not of CUDA

// A kernel's use of a multiprocessor, and its occupancy.
struct Residency {
  int registers = 0;  // per thread
  double occupancy_percent = 0;
};

// Numbered buffers, queues and the kernels of one program on a device. An operation that the device does not support is
// kUnsupported.
//
// One thread. Several workspaces of a device may be used at the same time.
class Workspace {
 public:
  virtual ~Workspace() = default;

  // Replaces the program. A wrong source is kInvalid, with the compiler's log.
  virtual Status build(const std::string& source) = 0;
  // CUDA architecture that build() compiles for: 89 of sm_89; an older one if the compiler does not know it.
  virtual Result<int> code_architecture() const;

  virtual Result<BufferNumber> add_bytes(size_t size, MemoryKind kind = MemoryKind::kDevice) = 0;  // uninitialised
  Result<BufferNumber> add(std::span<const float> content, MemoryKind kind = MemoryKind::kDevice);
  // Complete on return; no queued work may use the buffer.
  virtual Status write_bytes(BufferNumber buffer, std::span<const std::byte> content, size_t at = 0) = 0;
  virtual Status read_bytes(BufferNumber buffer, std::span<std::byte> content, size_t at = 0) = 0;
  Status write(BufferNumber buffer, std::span<const float> content, size_t at = 0);  // `at`: float
  Status read(BufferNumber buffer, std::span<float> content, size_t at = 0);

  // Queues the steps `repeats` times and waits for all. Creates missing queues.
  virtual Result<LaunchTime> run(std::span<const Step> steps, int repeats = 1) = 0;
  // The same for launches in sequence.
  Result<LaunchTime> run(std::span<const Launch> launches, int repeats = 1);
  // The launches, `times` times in a row, as one operation; records without running. Their kernels have run before: a
  // first launch may load code, which a recording forbids (CUDA C++ Programming Guide, lazy loading).
  virtual Result<Recording> record(std::span<const Launch> launches, int times = 1);

  virtual Result<GemmPlan> plan(const GemmProblem& problem);
  virtual Result<Residency> residency(const Launch& launch);
};

// How a workspace times its work: the device's events cost time with every launch.
enum class Timing { kByDevice, kByHost };

// Copies share the driver, which workspaces keep open too.
struct Device {
  DeviceFacts facts;
  std::function<Json()> details;  // all of the driver's properties
  std::function<Result<std::unique_ptr<Workspace>>(Timing)> open_workspace;
};

// Takes "opencl:N", "cuda:N"; without a number the first. Errors: a wrong name (kInvalid), or a missing device.
Result<Device> open_device(std::string_view name);
// A workspace of the device with this program.
Result<std::unique_ptr<Workspace>> workspace_with(const Device& device, const std::string& source,
                                                  Timing timing = Timing::kByDevice);

// kNotFound: "there is no OpenCL device 3; there are 2". `kind`: "OpenCL".
Status check_device_index(size_t index, size_t count, std::string_view kind);

}  // namespace ridge::gpu
