#include "front/http/openai_values.h"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "front/http/request_json.h"

namespace ridge::front::http {

namespace dom = simdjson::dom;

Error wrong_member(std::string_view name, const char* expected, const dom::element& found) {
  return wrong_type(in_quotes(name), expected, found);
}

Error out_of_range(std::string_view name, const std::string& range, const dom::element& found) {
  return invalid(in_quotes(name) + " should be " + range + ", found " +
                 std::string(simdjson::minify(found)).substr(0, 60));
}

Result<double> read_number(const dom::element& value, std::string_view name, NumberRange range) {
  double number = 0;
  if (value.get_double().get(number) != simdjson::SUCCESS) return wrong_member(name, "a number", value);
  if (number <= range.most && (range.above_least ? number > range.least : number >= range.least)) return number;
  return out_of_range(
      name,
      fmt::format("a number {} {:g} and at most {:g}", range.above_least ? "above" : "from", range.least, range.most),
      value);
}

Result<int64_t> read_integer(const dom::element& value, std::string_view name, int64_t least, int64_t most) {
  int64_t number = 0;
  const bool whole = value.is_int64() && value.get_int64().get(number) == simdjson::SUCCESS;
  if (whole && number >= least && number <= most) return number;
  const std::string upper = most == std::numeric_limits<int64_t>::max() ? "" : " and at most " + std::to_string(most);
  return out_of_range(name, "an integer of at least " + std::to_string(least) + upper, value);
}

Result<std::vector<int32_t>> read_tokens(const dom::element& value, std::string_view name) {
  if (!value.is_array()) return wrong_member(name, "a list of tokens", value);
  std::vector<int32_t> tokens;
  for (const dom::element each : dom::array(value.get_array().value_unsafe())) {
    RIDGE_ASSIGN(const int64_t token, read_integer(each, name, 0, std::numeric_limits<int32_t>::max()));
    tokens.push_back(static_cast<int32_t>(token));
  }
  return tokens;
}

namespace {

constexpr size_t kMostMembers = 1024;  // of an object that is kept as JSON, which finds members one after another

Result<Json> json_of_object(const dom::object& object, std::string_view name) {
  Json json = Json::object();
  for (const dom::key_value_pair member : object) {
    if (json.size() == kMostMembers)
      return invalid("an object in " + in_quotes(name) + " has more than " + std::to_string(kMostMembers) + " members");
    RIDGE_ASSIGN(json[std::string(member.key)], json_of(member.value, name));
  }
  return json;
}

}  // namespace

Result<Json> json_of(const dom::element& value, std::string_view name) {
  switch (value.type()) {
    case dom::element_type::NULL_VALUE: return Json();
    case dom::element_type::BOOL: return Json(value.get_bool().value_unsafe());
    case dom::element_type::INT64: return Json(value.get_int64().value_unsafe());
    case dom::element_type::UINT64: return Json(value.get_uint64().value_unsafe());
    case dom::element_type::DOUBLE: return Json(value.get_double().value_unsafe());
    case dom::element_type::STRING: return Json(std::string(value.get_string().value_unsafe()));
    case dom::element_type::OBJECT: return json_of_object(value.get_object().value_unsafe(), name);
    case dom::element_type::ARRAY: break;
    default: return invalid(in_quotes(name) + " has a number with more digits than 64 bits hold");
  }
  Json list = Json::array();
  for (const dom::element each : dom::array(value.get_array().value_unsafe())) {
    RIDGE_ASSIGN(Json item, json_of(each, name));
    list.push_back(std::move(item));
  }
  return list;
}

}  // namespace ridge::front::http
