#include "front/http/log_request.h"

#include <nlohmann/json.hpp>

#include "base/json.h"

namespace ridge::front::http {

Result<LogSettings> read_log_request(std::string_view body) {
  RIDGE_ASSIGN(Json json, parse_json(body, "the request"));
  if (!json.is_object()) return invalid("the request should be a JSON object, found " + dump_json(json).substr(0, 60));
  LogSettings changes;
  for (const auto& [name, value] : json.items()) {
    if (value.is_boolean())
      changes.emplace_back(name, value.get<bool>());
    else if (value.is_number_unsigned())
      changes.emplace_back(name, value.get<uint64_t>());
    else if (value.is_string())
      changes.emplace_back(name, value.get<std::string>());
    else if (!value.is_null())
      return invalid("'" + name.substr(0, 80) + "' should be a boolean, an unsigned integer or a string");
  }
  return changes;
}

}  // namespace ridge::front::http
