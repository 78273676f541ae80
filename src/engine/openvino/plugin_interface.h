// The only interface between ridge and its OpenVINO plugin, a separate shared library, so that the program starts and
// works without OpenVINO. Both sides include this file and nothing of OpenVINO's.
#pragma once

#include <memory>
#include <string>

#include "engine/own_library.h"
#include "model/ir.h"

namespace ridge::engine::openvino {

struct Plugin {
  const char* built;  // build_id() of the plugin; always stays first
  Result<std::unique_ptr<Session>> (*open)(const plan::Plan& plan, const std::string& library);
  Result<std::unique_ptr<Decoder>> (*open_decoder)(const DecoderPlan& plan, const std::string& library);
  Result<std::shared_ptr<const model::IrSource>> (*open_ir)(const std::string& path);
  std::string (*version)();  // of OpenVINO: "2026.4.1"
};

constexpr const char* kPluginEntry = "ridge_openvino_plugin";  // extern "C" const Plugin*()

}  // namespace ridge::engine::openvino
