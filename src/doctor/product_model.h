// A model that is one matrix multiplication of its two inputs, in FP32: the doctor's probe for engines. It has no weights, so
// the file takes some hundred bytes.
#pragma once

#include <cstdint>
#include <string>

namespace ridge::doctor {

// The bytes of an ONNX file: inputs "a" [rows, inner] and "b" [inner, columns], output "c" [rows, columns].
// Source of the format: onnx.proto (IR version 8, opset 17) in protobuf's wire encoding.
std::string product_model(int64_t rows, int64_t inner, int64_t columns);

}  // namespace ridge::doctor
