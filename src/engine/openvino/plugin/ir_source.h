// OpenVINO's description of a model in its own format.
#pragma once

#include <memory>
#include <string>

#include "model/ir.h"

namespace ridge::engine::openvino::plugin {

Result<std::shared_ptr<const model::IrSource>> open_ir(const std::string& path);

}  // namespace ridge::engine::openvino::plugin
