// Stops exceptions of ONNX's library and of protobuf. For model/ and precision/.
#pragma once

#include <exception>
#include <new>
#include <string>
#include <utility>

#include "base/result.h"

namespace ridge::model {

// Returns the result of `function`, its errors prefixed by the action; exceptions become errors too.
template <typename Function>
auto guarded(const std::string& doing, Function&& function) -> decltype(function()) {
  try {
    auto result = function();
    if (result) return result;
    return wrap(std::move(result).error(), doing);
  } catch (const std::bad_alloc&) {
    return Error{Code::kExhausted, doing + ": not enough memory"};
  } catch (const std::exception& e) {
    return Error{Code::kInvalid, doing + ": " + e.what()};
  }
}

}  // namespace ridge::model
