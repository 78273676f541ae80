// Runs a pass so that no exception leaves this folder.
#pragma once

#include <exception>
#include <new>
#include <string>
#include <utility>

#include "base/result.h"

namespace ridge::precision {

// The result of `pass`; its error, or the exception's, prefixed by what was being done.
template <typename Pass>
auto guarded_pass(const std::string& doing, Pass&& pass) -> decltype(pass()) {
  try {
    auto result = pass();
    if (result) return result;
    return wrap(std::move(result).error(), doing);
  } catch (const std::bad_alloc&) {
    return Error{Code::kExhausted, doing + ": not enough memory"};
  } catch (const std::exception& e) {
    return Error{Code::kInvalid, doing + ": " + e.what()};
  }
}

}  // namespace ridge::precision
