// OpenVINO's core, and calls that turn its exceptions into errors.
#pragma once

#include <exception>
#include <new>
#include <openvino/runtime/core.hpp>
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

// The process's one ov::Core: it holds the devices that sessions run on. Made at first use, never destroyed, because
// sessions may end after static destruction. Thread-safe as ov::Core is.
ov::Core& core();

}  // namespace ridge::engine::openvino::plugin
