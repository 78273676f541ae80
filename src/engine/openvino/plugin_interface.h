// The only interface between ridge and its OpenVINO plugin, a separate shared library, so that the program starts and works
// without OpenVINO. Both sides include this file and nothing of OpenVINO's.
//
// C++ values cross it, so both must come from one build: the caller compares `built` with its own build_id() before it calls
// anything. No exception crosses. The plugin's objects may live until the process ends; it is never unloaded.
#pragma once

#include <fmt/format.h>

#include <memory>
#include <string>

#include "engine/decoder.h"
#include "engine/engine.h"
#include "plan/plan.h"

namespace ridge::engine::openvino {

struct Plugin {
  const char* built;  // build_id() of the plugin; always stays first
  Result<std::unique_ptr<Session>> (*open)(const plan::Plan& plan, const std::string& library);
  Result<std::unique_ptr<Decoder>> (*open_decoder)(const DecoderPlan& plan, const std::string& library);
  std::string (*version)();  // of OpenVINO: "2026.4.1"
};

using PluginEntry = const Plugin*();
constexpr const char* kPluginEntry = "ridge_openvino_plugin";  // extern "C" PluginEntry

// Must be equal on both sides: release, compiler, and the layout of the exchanged types.
inline std::string build_id() {
  return fmt::format("ridge {}, interface 5, compiler {}, layout {}.{}.{}.{}.{}.{}.{}.{}.{}", RIDGE_VERSION,
                     __VERSION__, sizeof(plan::Plan), sizeof(Info), sizeof(Signature), sizeof(NodeTime), sizeof(Output),
                     sizeof(DecoderPlan), sizeof(DecoderInfo), sizeof(StepSequence), sizeof(Logits));
}

}  // namespace ridge::engine::openvino
