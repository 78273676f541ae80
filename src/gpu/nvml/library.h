// The table of NVML's functions behind gpu::nvml::Nvml, shared by the files that read (nvml.cc, system.cc) and change
// (control.cc). Private to gpu/. Immutable once made.
#pragma once

#include <fmt/format.h>

#include <utility>

#include "gpu/gpu_reader.h"
#include "gpu/library_function.h"
#include "gpu/nvml/abi.h"

namespace ridge::gpu::nvml {

struct Library : FunctionTable {
  using FunctionTable::FunctionTable;
  RIDGE_NVML_REQUIRED(RIDGE_NEEDS)
  RIDGE_NVML_OPTIONAL(RIDGE_MAY_HAVE)

  using GpuHandle = Device;
  using StatusCode = int;
  static constexpr int kOk = kSuccess, kAbsent = kFunctionNotFound;
  static bool broken(int code) { return code == kGpuIsLost || code == kResetRequired; }
  Error error(const char* function, int code) const {
    const char* words =
        code == kFunctionNotFound ? "the driver's library is too old for this query" : nvmlErrorString(code);
    Code kind = code == kNotSupported || code == kFunctionNotFound ? Code::kUnsupported : Code::kUnavailable;
    return {kind, fmt::format("{}: {} (NVML code {})", function, words ? words : "unknown error", code)};
  }
};

using Reader = GpuReader<Library>;

}  // namespace ridge::gpu::nvml
