// From OpenVINO's IR to ONNX's structure, so that shapes, values and costs follow from the same rules. What has no counterpart there
// becomes a node of the domain kIr with the shapes that the file gives: its cost is not known.
#pragma once

#include <string>
#include <string_view>

#include "base/digest.h"
#include "base/result.h"

namespace onnx {
class ModelProto;
}

namespace ridge::model {

inline constexpr std::string_view kIrSuffix = ".xml";
inline constexpr std::string_view kIr = "ir";  // domain of the operators that ONNX does not have

// The file at `path`, whose weights lie beside it in the .bin file of the same name. Its bytes are added to `digest`, the weights'
// are not: large ones become external data.
Status load_ir(const std::string& path, onnx::ModelProto& model, Digest& digest);
// The same from memory; the weights are "model.bin" in `folder`.
Status ir_from_bytes(std::string_view xml, const std::string& folder, onnx::ModelProto& model);

}  // namespace ridge::model
