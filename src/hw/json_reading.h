// Arrays and members that may be null, read from a JSON object with errors that name the member. Private to hw/.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"

namespace ridge::hw {

// Calls `read_element` for each element of the array `key`.
template <typename Read>
Status read_array(const Json& json, const char* key, const Read& read_element) {
  auto found = json.find(key);
  if (found == json.end() || !found->is_array())
    return Error{Code::kInvalid, std::string("member '") + key + "' should be an array"};
  for (const Json& element : *found)
    if (Status status = read_element(element); !status) return wrap(std::move(status).error(), key);
  return {};
}

// Likewise of an array of strings.
inline Status read_strings(const Json& json, const char* key, std::vector<std::string>& into) {
  return read_array(json, key, [&](const Json& element) -> Status {
    if (!element.is_string()) return Error{Code::kInvalid, "expected strings"};
    into.push_back(element.get<std::string>());
    return {};
  });
}

// Absent where the member is, or is null.
template <typename Value>
Status read_optional(const Json& json, const char* key, std::optional<Value>& into) {
  auto found = json.find(key);
  if (found == json.end() || found->is_null()) return {};
  RIDGE_ASSIGN(into, json_member<Value>(json, key));
  return {};
}

}  // namespace ridge::hw
