// A Plan's decisions as ONNX Runtime's session options.
#pragma once

#include <string>

#include "engine/onnxruntime/handles.h"
#include "engine/onnxruntime/library.h"
#include "engine/onnxruntime/options.h"
#include "plan/plan.h"

namespace ridge::engine::onnxruntime {

// `profile_prefix`: path of the profile if the plan asks for one.
Result<SessionOptionsHandle> session_options(const Library& library, const plan::Plan& plan,
                                             const EngineOptions& engine, const std::string& profile_prefix);

}  // namespace ridge::engine::onnxruntime
