// A device that runs kernels, as far as measuring it asks: what it is, rooms to run kernels in, the way to the host's memory, and
// the ways of starting something. Made of CUDA GPUs and of OpenCL devices.
//
// One thread. What is made of an accelerator must not outlive it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "base/units.h"
#include "gpu/launch.h"
#include "gpu/transfer.h"

namespace ridge::limits::accelerator {

enum class Dialect { kOpenCl, kCuda };  // of gpu/dialect.cu

struct Facts {
  std::string device;  // as asked for: "opencl:0"
  std::string name;
  std::string kind =
      "gpu";  // "cpu": an implementation of OpenCL that uses this machine's CPU; "gpu", "accelerator", "other"
  std::string software;  // that runs it, with its version
  Dialect dialect = Dialect::kOpenCl;
  std::string capability;   // of CUDA: "8.9"; else empty
  std::string pci_address;  // "0000:3b:00.0"; empty: not told
  std::string uuid;         // of CUDA
  int64_t compute_units = 0;
  int64_t threads_per_block = 0;  // at most
  int64_t memory_bytes = 0;
  int64_t largest_buffer_bytes = 0;
  int64_t last_cache_bytes = 0;  // 0: not told
  double clock_hz = 0;           // highest, as the device says
  // Lanes of a vector of the hardware (a GPU: 1); 0: not a type of this device.
  int64_t fp64_lanes = 0, fp32_lanes = 0, fp16_lanes = 0;
  bool bf16 = false, integer_dot = false;  // packed BF16 multiply-adds; sums of four products of 8-bit integers
};
Json to_json(const Facts& facts);
bool runs_on_cpu(const Facts& facts);

// Buffers and the kernels of one program.
class DeviceContext {
 public:
  virtual ~DeviceContext() = default;
  virtual Result<gpu::BufferNumber> add_bytes(size_t size) = 0;  // any content
  virtual Status read(gpu::BufferNumber buffer, std::span<float> content) const = 0;
  virtual Result<gpu::LaunchTime> run(std::span<const gpu::Launch> launches, int repeats) = 0;
  // From buffer to buffer by the driver's own copy [s].
  virtual Result<double> copy(gpu::BufferNumber from, gpu::BufferNumber to, size_t bytes) = 0;
};

// Between the host's memory and the device's.
class Link {
 public:
  virtual ~Link() = default;
  virtual size_t bytes() const = 0;  // of one copy, each way
  virtual Result<double> seconds(gpu::Way way, gpu::HostMemory memory) = 0;
  virtual Status check(gpu::HostMemory memory) = 0;
};

// A way of starting kernels that do nothing.
struct Starting {
  std::string what;  // "one, waited for"
  std::string meaning;
  std::function<Result<double>(int64_t starts)> seconds;  // by the host's clock, from the first until all have ended
  int64_t at_once = 1;                                    // starts come in so many: `starts` must be a multiple
};

// A matrix multiplication by the vendor's library.
struct LibraryProduct {
  std::string what;  // library and shape
  double flops = 0;  // of one
  std::function<Result<double>(int64_t repeats)> seconds;
  std::function<Status()> check;     // whether the last result is right
  std::function<std::string()> how;  // which of the library's ways, once it has run
};
class Products {
 public:
  virtual ~Products() = default;
  // m × k times k × n. kUnsupported: the library has no such product for this device.
  virtual Result<LibraryProduct> prepare(Precision precision, int64_t m, int64_t n, int64_t k) = 0;
};

class Accelerator {
 public:
  virtual ~Accelerator() = default;
  virtual const Facts& facts() const = 0;
  // `source`: a whole program (kernels.h).
  virtual Result<std::unique_ptr<DeviceContext>> prepare(const std::string& source) = 0;
  virtual Result<std::unique_ptr<Link>> link(size_t bytes) = 0;
  virtual Result<std::vector<Starting>> startings() = 0;
  virtual Result<std::unique_ptr<Products>> products() = 0;
};

// "opencl:N", "cuda:N"; without a number the first. Errors: a wrong name (kInvalid), or why there is no such device.
Result<std::unique_ptr<Accelerator>> open_accelerator(std::string_view name);

}  // namespace ridge::limits::accelerator
