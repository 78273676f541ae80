// A model's file in ONNX or in an engine's own format.
#pragma once

#include <string>

#include "model/reader.h"

namespace ridge::engine {

// As model::UnboundModel::read(), and OpenVINO's IR (.xml), which OpenVINO describes in this process. kNotFound: its
// library is missing; the error says how to get it. `library`: plan::Plan::engine_library.
Result<model::UnboundModel> read_model(const std::string& path, const std::string& library = "");

}  // namespace ridge::engine
