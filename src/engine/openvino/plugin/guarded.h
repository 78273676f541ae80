// Stops OpenVINO's exceptions.
#pragma once

#include <exception>
#include <new>
#include <string>
#include <utility>

#include "base/result.h"

namespace ridge::engine::openvino::plugin {

// OpenVINO's text without its stack of "Exception from src/…" lines, as one line.
std::string plain_message(const std::string& what);

// The result of `work`, a Result or Status; its exception as an Error that says what was being done.
template <typename Work>
auto guarded(const std::string& doing, Work&& work) -> decltype(work()) {
  try {
    return std::forward<Work>(work)();
  } catch (const std::bad_alloc&) {
    return Error{Code::kExhausted, doing + ": there is not enough memory; use fewer instances or a smaller model"};
  } catch (const std::exception& thrown) {
    return Error{Code::kFailed, doing + ": " + plain_message(thrown.what())};
  } catch (...) {
    return Error{Code::kFailed, doing + ": OpenVINO gave no reason"};
  }
}

}  // namespace ridge::engine::openvino::plugin
