// The device of an experiment: one that runs kernels (gpu/device.h), or one CPU thread. Each prepares a case, keeps its
// buffers, and runs its variants.
//
// One thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "gpu/device.h"
#include "lab/experiment.h"

namespace ridge::lab {

// A case prepared on a device: kernels compiled, buffers filled.
class PreparedCase {
 public:
  virtual ~PreparedCase() = default;
  // Time that counts for the case [s], of `repeats` runs of the variant together.
  virtual Result<double> seconds(const Variant& variant, int repeats) = 0;
  // Residency of the variant's first kernel. Absent: not reported by the device.
  virtual std::optional<gpu::Residency> residency(const Variant&) { return std::nullopt; }
  virtual Status put(size_t buffer, std::span<const float> content) = 0;
  virtual Status get(size_t buffer, std::span<float> content) = 0;
};

struct Device {
  std::string kind;                  // as claims name it: "cuda", "opencl", "cpu"
  std::string text;                  // name and software, for people
  std::string note;                  // context for the explanations; may be empty
  std::function<Json()> conditions;  // name, software and note for the ledger
  Target target;                     // setup of the experiments
  std::function<Result<std::unique_ptr<PreparedCase>>(const Case& work)> prepare;
};

// Takes "cpu", "cuda:N", "opencl:N" ("cuda": the first). Errors: a wrong name (kInvalid), or a missing device.
Result<Device> open_device(std::string_view name);

// Runs every variant once and compares its results with the reference, and the sums of all its rows where the case has
// them; the error names the variant and the first wrong value or row.
Status check(PreparedCase& prepared, const Case& work);

// The CPU: variants are functions of this program, run on one thread.
Result<Device> open_native_device();

// A CUDA GPU or OpenCL device by its name (gpu/device.h): variants are launches and steps.
Result<Device> open_kernel_device(std::string_view name);

}  // namespace ridge::lab
