#include "front/http/repository_request.h"

#include <nlohmann/json.hpp>

#include "base/json.h"
#include "front/base64.h"
#include "front/load_request.h"

namespace ridge::front::http {
namespace {

bool is_blank(std::string_view text) { return text.find_first_not_of(" \t\r\n") == std::string_view::npos; }

Result<Json> read_object(std::string_view body) {
  if (is_blank(body)) return Json(Json::object());
  RIDGE_ASSIGN(Json json, parse_json(body, "the request"));
  if (!json.is_object()) return invalid("the request should be a JSON object, found " + dump_json(json).substr(0, 60));
  return json;
}

Result<Json> read_parameters(std::string_view body) {
  RIDGE_ASSIGN(Json json, read_object(body));
  auto found = json.find("parameters");
  if (found == json.end() || found->is_null()) return Json(Json::object());
  if (!found->is_object()) return invalid("'parameters' should be an object, found " + dump_json(*found).substr(0, 60));
  return Json(std::move(*found));
}

Status read_file(const std::string& key, const Json& value, serve::LoadRequest& request) {
  if (!value.is_string()) return invalid("'" + key + "' should be the file's content in base64");
  std::optional<std::string> content = base64_decoded(value.get_ref<const std::string&>());
  if (!content) return invalid("the content of '" + key + "' is not base64");
  return add_file(request, key, std::move(*content));
}

}  // namespace

Result<bool> read_index_request(std::string_view body) {
  RIDGE_ASSIGN(Json json, read_object(body));
  return json_member_or<bool>(json, "ready", false);
}

Result<serve::LoadRequest> read_load_request(std::string_view body) {
  RIDGE_ASSIGN(Json parameters, read_parameters(body));
  serve::LoadRequest request;
  for (const auto& [key, value] : parameters.items()) {
    if (key == "config") {
      if (!value.is_string()) return invalid("'config' should be a string that holds the model configuration as JSON");
      request.config_json = value.get<std::string>();
    } else if (names_file(key)) {
      RIDGE_TRY(read_file(key, value, request));
    } else {
      return unknown_load_parameter(key);
    }
  }
  RIDGE_TRY(check_load(request));
  return request;
}

Result<bool> read_unload_request(std::string_view body) {
  RIDGE_ASSIGN(Json parameters, read_parameters(body));
  return json_member_or<bool>(parameters, "unload_dependents", false);
}

}  // namespace ridge::front::http
