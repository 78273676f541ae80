// How a GPU computes the model, in configurations of Triton's ONNX Runtime backend: its accelerators "cuda" and
// "tensorrt", and older parameters of the first, as options of ONNX Runtime's providers.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/engines.h"
#include "plan/plan.h"

namespace ridge::engine::onnxruntime {

// See Engine::accelerators.
std::vector<Accelerator> accelerators(const plan::Plan& plan);

// See Engine::read_accelerators. TensorRT becomes the plan's device where it is named; it builds its engine for the
// range of rows once, where all dimensions are fixed and no profile is given, instead of again for every new number of
// rows. kInvalid or kUnsupported: an accelerator or a value that is not known, which the error names.
Status read_accelerators(std::span<const Accelerator> accelerators, const ServedShapes& shapes, plan::Plan& plan);

// Reads a parameter of the CUDA provider, which has no effect on the CPU; false: it is not one.
bool read_cuda_parameter(const std::string& key, const std::string& value, plan::Plan& plan);

}  // namespace ridge::engine::onnxruntime
