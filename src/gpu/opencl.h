// OpenCL devices by the loader (libOpenCL.so.1), opened at run time: cards of AMD, Intel and others, and processors (pocl).
// Absent and without devices are values with a reason. Nothing of OpenCL is needed to build ridge.
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

namespace ridge::gpu {

namespace opencl {
struct Library;
}

struct OpenClDevice {
  std::string name, vendor, platform;  // platform: the implementation, "Portable Computing Language"
  std::string version, driver;         // "OpenCL 3.0 …", the implementation's own number
  std::string kind;                    // "cpu", "gpu", "accelerator", "other"
  int64_t compute_units = 0;
  int64_t threads_per_block = 0;  // at most
  int64_t memory_bytes = 0;       // global
  int64_t cache_bytes = 0;        // of global memory; 0: the device tells none
  int64_t shared_bytes = 0;       // OpenCL's local memory, per block
  double clock_hz = 0;            // highest, as the device says
  bool unified_memory = false;    // MemoryKind::kUnified works
};
Json to_json(const OpenClDevice& device);

class OpenClWorkspace;

// Handle of the open library; copies share it.
class OpenCl {
 public:
  // `library`: a path; empty: the environment variable RIDGE_OPENCL, else libOpenCL.so.1 by the loader's search. The error
  // says whether there is no loader (kNotFound), or no implementation or device behind it (kUnavailable).
  static Result<OpenCl> open(const std::string& library = "");

  const std::vector<OpenClDevice>& devices() const { return devices_; }  // at least one
  // A place to run kernels on device `index`.
  Result<OpenClWorkspace> workspace(size_t index) const;

 private:
  explicit OpenCl(std::shared_ptr<const opencl::Library> library) : library_(std::move(library)) {}
  std::shared_ptr<const opencl::Library> library_;
  std::vector<OpenClDevice> devices_;
  std::vector<void*> handles_;  // of `devices_`; they belong to the library
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
  Status write(BufferNumber buffer, std::span<const float> content);
  Status read(BufferNumber buffer, std::span<float> content) const;
  // Replaces the program. A wrong source is kInvalid, with the compiler's log.
  Status build(const std::string& source, const std::string& options = "");
  // Queues the launches, which run one after another, `repeats` times, and waits for all.
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

}  // namespace ridge::gpu
