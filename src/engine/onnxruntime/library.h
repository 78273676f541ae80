// ONNX Runtime's shared library, found and opened once per process.
//
// Thread-safe. A library stays open until the process ends: its threads and its log outlive any owner.
#pragma once

#include <onnxruntime_c_api.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"
#include "engine/onnxruntime/handles.h"
#include "plan/plan.h"

namespace ridge::engine::onnxruntime {

// Immutable once loaded.
struct Library {
  std::string path;
  std::string version;
  const OrtApi* api = nullptr;
  MemoryInfoHandle cpu_memory;
  OrtAllocator* allocator = nullptr;   // ONNX Runtime's own default; not to be released
  std::vector<std::string> providers;  // compiled into it: "CPUExecutionProvider", …
};

// The first library in the search order of search.h, or an error that lists every location and why it failed.
Result<const Library*> load(const std::string& wanted);

Result<Info> find_library(const plan::Plan& plan);

// A message of its own without places of its source: "/onnxruntime_src/FILE.cc:LINE NAMESPACE::FUNCTION(TYPES) ".
std::string without_places(std::string message);

// An OrtStatus as ours, released; ok for nullptr.
Status take(const OrtApi& api, OrtStatus* status);
// A text that the engine has put into its allocator's memory, which is released.
std::string take_text(const Library& library, char* text);

}  // namespace ridge::engine::onnxruntime
