// The engine options of a plan, grouped by where ONNX Runtime takes them: session configuration, run configuration, the
// process's environment, its providers for GPUs. docs/contracts.md lists the keys that begin with "ridge.", "cuda." and
// "tensorrt."; others are ONNX Runtime's own. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "engine/onnxruntime/gpu_options.h"
#include "plan/plan.h"

namespace ridge::engine::onnxruntime {

// Options shared by all sessions of the process.
struct SharedOptions {
  std::optional<int> threads;              // of one pool that all such sessions compute on; absent: each has its own
  plan::Spin spin = plan::Spin::kDefault;  // of that pool
  std::map<std::string, int64_t> arena;    // of one arena that all such sessions allocate from, by ONNX Runtime's keys
};

struct EngineOptions {
  std::map<std::string, std::string> session;  // configuration entries
  std::map<std::string, std::string> run;      // configuration entries of every run
  std::map<std::string, int64_t> dimensions;   // symbol of a dynamic dimension → its size
  SharedOptions shared;
  ProviderOptions cuda, tensorrt;  // of the providers that run the model on NVIDIA's GPU
};

// kInvalid: a key that begins with "ridge." and is not known, a wrong value, or an option of a GPU's provider in a plan
// for another device; the error names it.
Result<EngineOptions> engine_options(const plan::Plan& plan);

}  // namespace ridge::engine::onnxruntime
