#include "engine/openvino/plugin/guarded.h"
#include "engine/openvino/plugin/session.h"
#include "engine/openvino/plugin_interface.h"

namespace ridge::engine::openvino::plugin {
namespace {

Result<std::unique_ptr<Session>> open(const plan::Plan& plan, const std::string& library) {
  return guarded("OpenVINO could not open " + plan.model, [&] { return open_in_plugin(plan, library); });
}

}  // namespace
}  // namespace ridge::engine::openvino::plugin

extern "C" __attribute__((visibility("default"))) const ridge::engine::openvino::Plugin* ridge_openvino_plugin() {
  using namespace ridge::engine::openvino;
  using namespace ridge::engine::openvino::plugin;
  static const std::string built = build_id();
  static const Plugin plugin{built.c_str(), open, openvino_version};
  return &plugin;
}
