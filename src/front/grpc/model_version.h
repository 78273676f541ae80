// The version of a model as the schema has it, in text. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"

namespace ridge::front::grpc {

// 0: the text is empty, which asks for the highest version that is served.
Result<int64_t> read_model_version(const std::string& text);

}  // namespace ridge::front::grpc
