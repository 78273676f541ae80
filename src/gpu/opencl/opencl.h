// OpenCL devices by the loader (libOpenCL.so.1), opened at run time: GPUs of AMD, Intel and others, and CPUs (pocl).
// Absent and without devices are values with a reason.
//
// Thread-safe but for Workspace, which is used by one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "gpu/launch.h"
#include "gpu/step.h"

struct _cl_device_id;  // CL/cl.h NOLINT(bugprone-reserved-identifier)

namespace ridge::gpu::opencl {

struct Library;

struct OpenClDevice {
  std::string name, vendor, platform;  // platform: the implementation, "Portable Computing Language"
  std::string version, driver;         // "OpenCL 3.0 …", the implementation's own number
  std::string kind;                    // "cpu", "gpu", "accelerator", "other"
  int64_t compute_units = 0;
  int64_t threads_per_block = 0;  // at most
  int64_t memory_bytes = 0;       // global
  int64_t cache_bytes = 0;        // of global memory; 0: the device tells none
  int64_t shared_bytes = 0;       // OpenCL's local memory, per block
  int64_t largest_buffer_bytes = 0;
  double clock_hz = 0;          // highest, as the device says
  bool unified_memory = false;  // MemoryKind::kUnified works
  // Lanes of a vector of the hardware (a GPU: 1); 0: the device does not compute in this type.
  int64_t fp64_lanes = 0, fp32_lanes = 0, fp16_lanes = 0;
  bool integer_dot = false;  // sums of four products of 8-bit integers: cl_khr_integer_dot_product
  std::string pci_address;   // "0000:3b:00.0"; empty: the device tells none
};
Json to_json(const OpenClDevice& device);

class OpenClLink;
class OpenClWorkspace;

// By what a workspace times its launches. Events of the device cost time with every launch.
enum class OpenClTiming { kByDevice, kByHost };

// Handle of the open library; copies share it.
class OpenCl {
 public:
  // `library`: a path; empty: the environment variable RIDGE_OPENCL, else libOpenCL.so.1 by the loader's search. The error
  // says whether there is no loader (kNotFound), or no implementation or device behind it (kUnavailable).
  static Result<OpenCl> open(const std::string& library = "");

  const std::vector<OpenClDevice>& devices() const { return devices_; }  // at least one
  // A place to run kernels on device `index`.
  Result<OpenClWorkspace> workspace(size_t index, OpenClTiming timing = OpenClTiming::kByDevice) const;
  // Copies of `bytes` between the host and device `index`.
  Result<OpenClLink> link(size_t index, size_t bytes) const;

 private:
  explicit OpenCl(std::shared_ptr<const opencl::Library> library) : library_(std::move(library)) {}
  Result<_cl_device_id*> handle(size_t index) const;
  std::shared_ptr<const opencl::Library> library_;
  std::vector<OpenClDevice> devices_;
  std::vector<_cl_device_id*> handles_;  // of `devices_`; they belong to the library
};

// Context, queues, numbered buffers and the kernels of one program. Move-only; all of it ends with the workspace.
class OpenClWorkspace {
 public:
  OpenClWorkspace(OpenClWorkspace&& other) noexcept;
  OpenClWorkspace& operator=(OpenClWorkspace&& other) noexcept;
  OpenClWorkspace(const OpenClWorkspace&) = delete;
  OpenClWorkspace& operator=(const OpenClWorkspace&) = delete;
  ~OpenClWorkspace();

  // Adds a buffer with this content. Unified memory on a device without it is kUnsupported.
  Result<BufferNumber> add(std::span<const float> content, MemoryKind kind = MemoryKind::kDevice);
  // Adds a buffer on the device whose content is anything.
  Result<BufferNumber> add_bytes(size_t size);
  Status write(BufferNumber buffer, std::span<const float> content);
  Status read(BufferNumber buffer, std::span<float> content) const;
  // Replaces the program. A wrong source is kInvalid, with the compiler's log.
  Status build(const std::string& source, const std::string& options = "");
  // Copies from the start of one buffer to the start of another and waits; takes so long by the host's clock [s].
  Result<double> copy(BufferNumber from, BufferNumber to, size_t bytes);
  // Queues the launches, which run one after another, `repeats` times, and waits for all. device_seconds is 0 where the host
  // times.
  Result<LaunchTime> run(std::span<const Launch> launches, int repeats = 1);
  // The same with all that the host does around launches. Queues that are not there yet are made.
  Result<LaunchTime> run(std::span<const Step> steps, int repeats = 1);
  // OpenCL has nothing to record launches with that every implementation knows: kUnsupported.
  Result<LaunchTime> run_recorded(std::span<const Launch> launches, int repeats = 1);

 private:
  friend class OpenCl;
  struct State;
  explicit OpenClWorkspace(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace ridge::gpu::opencl
