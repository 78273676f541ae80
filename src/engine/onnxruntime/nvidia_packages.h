// NVIDIA's libraries from python packages (pip install onnxruntime-gpu[cuda,cudnn]), in site-packages/nvidia, where no
// loader searches. Once one is open, the loader uses it for every later request by its bare name, so a provider's
// dependencies are opened before the provider; ONNX Runtime's own python package does the same.
#pragma once

#include <string>
#include <vector>

namespace ridge::engine::onnxruntime {

// Folders of site-packages with such libraries, for a runtime in site-packages/onnxruntime/capi: its nvidia/*/lib, and
// tensorrt_libs. Empty for any other location.
std::vector<std::string> nvidia_folders(const std::string& runtime_path);

// Opens the dependencies of `library`, recursively, from `folders`, unless the loader finds them by itself; and those
// that providers open by name at run time (cuDNN, cuFFT, NVRTC). They stay open. Libraries found nowhere stay missing.
void open_needed(const std::string& library, const std::vector<std::string>& folders);

}  // namespace ridge::engine::onnxruntime
