// JSON for the values passed between stages, for reports and for everything that is not a request body (simdjson reads
// those in front/). Objects keep the order in which their members were added.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ridge {

using Json = nlohmann::ordered_json;

// Parses one JSON document. `what` names it in the error. Nesting deeper than 200 is refused.
Result<Json> parse_json(std::string_view text, std::string_view what);

// Compact, or indented by two spaces. Invalid UTF-8 is replaced, never thrown.
std::string dump_json(const Json& json, bool pretty = false);

// Member access that cannot throw: the member as T, or an error that names the member, its expected type and `json`'s
// path. T: bool, int64_t, double, std::string.
template <typename T>
Result<T> json_member(const Json& json, const char* key);
// The same with a default for an absent (or null) member; a member of another type is still an error.
template <typename T>
Result<T> json_member_or(const Json& json, const char* key, T otherwise);

}  // namespace ridge
