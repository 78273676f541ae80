// Runs a model on one of ONNX Runtime's execution providers, without the silent fallback to the CPU.
#pragma once

#include <string>

#include "base/result.h"
#include "engine/onnxruntime/library.h"
#include "plan/plan.h"

namespace ridge::engine::onnxruntime {

// See engine/providers.h.
Status try_provider(const Library& library, const plan::Plan& plan, const std::string& provider);

}  // namespace ridge::engine::onnxruntime
