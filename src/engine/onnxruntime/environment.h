// The OrtEnv shared by all sessions of the process, created for the first of them, with the thread pool and arena that
// sessions may share. Thread-safe. It lives until the process ends: sessions may end after static destruction.
#pragma once

#include "engine/onnxruntime/library.h"
#include "engine/onnxruntime/options.h"

namespace ridge::engine::onnxruntime {

// kInvalid: a shared pool or arena that differs from the one requested by the process's first session.
Result<OrtEnv*> environment(const Library& library, const SharedOptions& wanted);

}  // namespace ridge::engine::onnxruntime
