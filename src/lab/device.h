// Where an experiment runs: a CUDA GPU, an OpenCL device, or one thread of the CPU. All take a case, keep its buffers, and run its
// variants.
//
// One thread. A place must not outlive its device.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "lab/experiment.h"

namespace ridge::lab {

// What the first kernel of a variant takes of a multiprocessor, and how full that can be of it (lab/occupancy.h).
struct Residency {
  int registers = 0;  // per thread
  double occupancy_percent = 0;
};

// A case made ready on a device: kernels compiled, buffers filled.
class Place {
 public:
  virtual ~Place() = default;
  // Time that counts for the case [s], of `repeats` runs of the variant together.
  virtual Result<double> seconds(const Variant& variant, int repeats) = 0;
  // Absent: the device does not say.
  virtual std::optional<Residency> residency(const Variant&) const { return std::nullopt; }
  virtual Status put(size_t buffer, std::span<const float> content) = 0;
  virtual Status get(size_t buffer, std::span<float> content) = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual std::string_view kind() const = 0;    // as claims name it: "cuda", "opencl", "cpu"
  virtual const std::string& text() const = 0;  // name and software, for people
  virtual Json conditions() const = 0;          // the same for the ledger
  // What must be known to read the explanations; may be empty.
  virtual std::string_view note() const { return {}; }
  virtual Target target() const = 0;  // what to make experiments for
  virtual Result<std::unique_ptr<Place>> prepare(const Case& work) = 0;
};

// "cpu", "cuda:N", "opencl:N" ("cuda", "opencl": the first). Errors: a wrong name (kInvalid), or why there is no such device.
Result<std::unique_ptr<Device>> open_device(std::string_view name);

// Runs every variant once and compares what comes out with what must; the error names the variant and the first wrong value.
Status check(Place& place, const Case& work);

}  // namespace ridge::lab
