// Parses bytes into ONNX's own structure, with a diagnosis if they are not ONNX.
#pragma once

#include <string>
#include <string_view>

#include "base/descriptor.h"
#include "base/result.h"

namespace onnx {
class ModelProto;
}

namespace ridge::model {

// Remedy for a file that is written in a form newer than its readers.
constexpr std::string_view kLowerIrVersion =
    "; lower it by python3 -c \"import onnx; m = onnx.load('IN.onnx'); m.ir_version = 10; onnx.save(m, 'OUT.onnx')\"";

// Errors: no such file, not a regular file, empty, larger than protobuf's 2 GB, cut off, not ONNX.
// `opened`: becomes the file that was read.
Status load(const std::string& path, onnx::ModelProto& model, Descriptor* opened = nullptr);
Status parse(std::string_view bytes, onnx::ModelProto& model);

}  // namespace ridge::model
