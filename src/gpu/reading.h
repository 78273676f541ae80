// A fact that the outside world may refuse to tell: a value, or the reason why there is none. Never zero for "unknown".
// Plain value; no thread rules.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "base/result.h"

namespace ridge::gpu {

template <typename T>
struct Reading {
  std::optional<T> value;
  std::string reason = "not asked";  // only of interest while `value` is absent

  Reading() = default;
  Reading(T given) : value(std::move(given)), reason() {}                            // NOLINT: implicit by design
  Reading(const Error& error) : reason(error.message) {}                             // NOLINT
  Reading(const Result<T>& result) : reason(result ? "" : result.error().message) {  // NOLINT
    if (result) value = *result;
  }

  explicit operator bool() const { return value.has_value(); }
  const T& operator*() const { return *value; }
  const T* operator->() const { return &*value; }
};

}  // namespace ridge::gpu
