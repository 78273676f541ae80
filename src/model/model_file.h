// Parses bytes into ONNX's own structure, with a diagnosis if they are not ONNX.
#pragma once

#include <string>
#include <string_view>

#include "base/digest.h"
#include "base/result.h"

namespace onnx {
class ModelProto;
}

namespace ridge::model {

// Errors: no such file, not a regular file, empty, larger than protobuf's 2 GB, cut off, not ONNX.
Status load(const std::string& path, onnx::ModelProto& model);
// The same; adds the bytes to `digest` as they are read.
Status load(const std::string& path, onnx::ModelProto& model, Digest& digest);
Status parse(std::string_view bytes, onnx::ModelProto& model);

}  // namespace ridge::model
