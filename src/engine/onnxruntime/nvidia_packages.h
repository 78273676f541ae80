// NVIDIA's libraries from python packages (pip install onnxruntime-gpu[cuda,cudnn]), in site-packages/nvidia, where no loader
// searches. Once one is open, the loader uses it for every later request by its bare name, so a provider's dependencies are
// opened before the provider; ONNX Runtime's own python package does the same.
#pragma once

#include <string>
#include <vector>

namespace ridge::engine::onnxruntime {

// Folders of site-packages that hold such libraries, for a runtime that lies in site-packages/onnxruntime/capi: its
// nvidia/*/lib, and tensorrt_libs. Empty if it lies elsewhere.
std::vector<std::string> nvidia_folders(const std::string& runtime_path);

// Opens what `library` needs, and what that needs, from `folders`, as far as the loader does not find it by itself; and those
// that providers ask for by name when they run (cuDNN, cuFFT, NVRTC). They stay open. Libraries found nowhere stay missing.
void open_needed(const std::string& library, const std::vector<std::string>& folders);

}  // namespace ridge::engine::onnxruntime
