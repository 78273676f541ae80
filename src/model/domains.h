// Operator domains other than ONNX's own, which is "".
#pragma once

#include <string_view>

namespace ridge::model {

inline constexpr std::string_view kOnnxMl = "ai.onnx.ml";
inline constexpr std::string_view kMicrosoft = "com.microsoft";
inline constexpr std::string_view kBlocked =
    "com.microsoft.nchwc";  // channels in blocks of 8 or 16, written by ONNX Runtime

}  // namespace ridge::model
