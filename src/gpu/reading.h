// A fact that may be unavailable: a value, or the reason why there is none. "Unknown" is never zero. Plain value; no
// thread rules.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "base/fields.h"
#include "base/result.h"

namespace ridge::gpu {

template <typename T>
struct Reading {
  std::optional<T> value;
  std::string reason = "not asked";  // only relevant while `value` is absent

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

// The value, or {"reason": …}.
template <typename T, typename Document = Json>
Document to_json(const Reading<T>& reading) {
  if (reading) return json_of<T, Document>(*reading);
  return Document{{"reason", reading.reason}};
}

template <typename T>
Status read_json(const Json& json, Reading<T>& reading) {
  std::string reason = "unknown reason";
  if (read_fields(json, [&](auto& visit) { visit.optional("reason", reason); })) {
    reading = Error{Code::kNotFound, std::move(reason)};
  } else {
    RIDGE_ASSIGN(reading, from_json<T>(json));
  }
  return {};
}

template <typename T>
void set_absent(Reading<T>& reading) {
  reading = Error{Code::kNotFound, "not recorded"};
}

}  // namespace ridge::gpu
