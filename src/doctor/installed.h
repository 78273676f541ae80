// The installed parts of NVIDIA's stack, from the names of files and python packages. Pure; the names are gathered
// elsewhere.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "catalogue/version.h"
#include "machine/tree.h"

namespace ridge::doctor {

struct InstalledPart {
  catalogue::Version version;
  std::string path;  // the file or package that shows it
};

struct InstalledSoftware {
  std::optional<InstalledPart> module;  // kernel module: /proc/driver/nvidia/version; of the host, also in a container
  std::optional<InstalledPart> driver;  // user library libcuda.so.<version>
  std::optional<InstalledPart> compatibility;  // forward compatibility package: cuda/compat/libcuda.so.<version>
  std::optional<InstalledPart> cuda;           // run-time library, newest
  std::optional<InstalledPart> cudnn;
  std::optional<InstalledPart> tensorrt;
  std::optional<InstalledPart> nccl;
  std::optional<int64_t> nccl_cuda;          // major version of CUDA that it was built for; absent: not in its name
  std::optional<InstalledPart> onnxruntime;  // python package
  bool onnxruntime_gpu = false;              // it is onnxruntime-gpu
  std::optional<std::string> container;      // evidence that this is a container
};

InstalledSoftware installed_of(const machine::Tree& tree);

// Patterns, without leading slash, of the files and packages above; `python` are site-packages folders.
std::vector<std::string> installed_patterns(const std::vector<std::string>& library_folders,
                                            const std::vector<std::string>& python_folders);

}  // namespace ridge::doctor
