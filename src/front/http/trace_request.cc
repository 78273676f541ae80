#include "front/http/trace_request.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"

namespace ridge::front::http {

Result<TraceChanges> read_trace_request(std::string_view body) {
  TraceChanges changes;
  if (body.empty()) return changes;
  RIDGE_ASSIGN(Json json, parse_json(body, "the request"));
  if (!json.is_object()) return invalid("the request should be a JSON object, found " + dump_json(json).substr(0, 60));
  for (const auto& [name, value] : json.items()) {
    std::optional<std::vector<std::string>>& change = changes[name];
    auto is_text = [](const Json& each) { return each.is_string(); };
    if (name == "trace_level" && !value.is_array() && !value.is_null())
      return invalid("'trace_level' should be a list: [\"TIMESTAMPS\"] or [\"OFF\"]");
    if (value.is_string() || value.is_number_integer())
      change = {value.is_string() ? value.get<std::string>() : dump_json(value)};
    else if (value.is_array() && std::all_of(value.begin(), value.end(), is_text))
      change = value.get<std::vector<std::string>>();
    else if (!value.is_null())
      return invalid("'" + name.substr(0, 80) + "' should be a string, a list of strings or null");
  }
  return changes;
}

}  // namespace ridge::front::http
