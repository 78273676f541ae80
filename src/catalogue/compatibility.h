// The version matrix: what NVIDIA's driver, CUDA, cuDNN, TensorRT, NCCL and ONNX Runtime require of each other. Pure
// queries of the tables in data/ (cuda_compat, cudnn_compat, tensorrt_compat, nccl_compat, onnxruntime_compat), each
// answer with its row.
#pragma once

#include <optional>
#include <string>

#include "catalogue/version.h"

namespace ridge::catalogue {

// The driver that a CUDA release needs.
struct CudaRow {
  Version cuda;
  std::optional<Version> driver;        // that came with it; absent: not in the table
  std::optional<Version> driver_minor;  // the oldest that runs it under minor-version compatibility; absent: none does
  std::optional<Version> least_capability, most_capability;
};
// The row of that release. If the table lacks the third number, the first row of that minor version: libraries carry a
// build number there (libcudart.so.12.4.127 is of 12.4.1).
std::optional<CudaRow> cuda_row(const Version& cuda);
// The newest release that this driver runs with all features.
std::optional<CudaRow> newest_cuda_for(const Version& driver);

enum class DriverFit {
  kFull,   // as new as the release's own driver
  kMinor,  // runs it, but not its newest features or its PTX
  kNone,
};
DriverFit driver_fit(const Version& driver, const CudaRow& row);

// Requirements of an NVIDIA library.
struct LibraryRow {
  Version version;
  std::string cuda;  // pattern, see fits()
  std::optional<Version> driver;
  std::optional<Version> least_capability, most_capability;
};
// The newest row not newer than `version` within its major version, built for `cuda` if there is one, else any.
std::optional<LibraryRow> cudnn_row(const Version& version, const std::optional<Version>& cuda);
std::optional<LibraryRow> tensorrt_row(const Version& version, const std::optional<Version>& cuda);

// The newest row of NCCL not newer than `version`, as built for that CUDA (major version): the lowest compute
// capability it has code for, if known, and the driver that this CUDA needs.
std::optional<LibraryRow> nccl_row(const Version& version, int cuda_major);

// The build of an onnxruntime-gpu release.
struct OnnxRuntimeRow {
  std::string version;  // "1.20.x"
  Version cuda;         // the published package's
  std::string cuda_text;
  int cudnn_major = 0;
  std::string cudnn_text;
  std::optional<Version> tensorrt;
  std::string also;   // other builds: "11.8 with cuDNN 8"
  bool exact = true;  // false: the table ends before this version, this is its newest row
};
std::optional<OnnxRuntimeRow> onnxruntime_row(const Version& version);

}  // namespace ridge::catalogue
