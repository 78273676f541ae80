#include "engine/openvino/plugin/engine_core.h"

namespace ridge::engine::openvino::plugin {

ov::Core& core() {
  static auto* core = new ov::Core;
  return *core;
}

}  // namespace ridge::engine::openvino::plugin
