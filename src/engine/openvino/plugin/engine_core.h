// The process's one ov::Core: it holds the devices that sessions run on. Made at first use, never destroyed, because
// sessions may end after static destruction. Thread-safe as ov::Core is.
#pragma once

#include <openvino/runtime/core.hpp>

namespace ridge::engine::openvino::plugin {

ov::Core& core();

}  // namespace ridge::engine::openvino::plugin
