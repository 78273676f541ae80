#include "front/openai/values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>

#include "front/request_json.h"

namespace ridge::front::openai {

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
  const dom::array list = value.get_array().value_unsafe();
  std::vector<int32_t> tokens;
  tokens.reserve(list.size());  // which simdjson counts to 2^24 only
  for (const dom::element each : list) {
    RIDGE_ASSIGN(const int64_t token, read_integer(each, name, 0, std::numeric_limits<int32_t>::max()));
    tokens.push_back(static_cast<int32_t>(token));
  }
  return tokens;
}

namespace {

// Memory of a value, by the mark before it: 16 of simdjson's tape and 4 for each of two marks. Kept for chat templates,
// 20 kinds of lists of the least values took at most 267 with it, for schemas 140.
constexpr uint64_t kTokenBytes = 24, kValueBytes = 256;
constexpr std::array<std::string_view, 5> kOfTokens = {"prompt", "input", "tokens", "stop_token_ids", "logit_bias"};
// Members whose texts may be read as JSON in turn.
constexpr std::array<std::string_view, 4> kOfJson = {"arguments", "json", "guided_json", "json_schema"};

bool is_mark(char c) { return c == '{' || c == '[' || c == ',' || c == ':'; }

}  // namespace

uint64_t bytes_to_read(std::string_view json) {
  uint64_t bytes = json.size(), of_value = kValueBytes;
  std::string_view text, name;  // the latest text; the latest that was a member's name
  size_t depth = 0;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (c == '"') {
      const bool may_be_json = name.find('\\') != name.npos || std::ranges::find(kOfJson, name) != kOfJson.end();
      const size_t begin = ++i;
      for (; i < json.size() && json[i] != '"'; ++i) {
        if (json[i] == '\\')
          ++i;
        else if (may_be_json && is_mark(json[i]))
          bytes += kValueBytes;
      }
      text = json.substr(begin, std::min(i, json.size()) - begin);
      continue;
    }
    if (c == ':') name = text;
    if (c == ':' && depth == 1)
      of_value = std::ranges::find(kOfTokens, name) != kOfTokens.end() ? kTokenBytes : kValueBytes;
    if (is_mark(c)) bytes += of_value;
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
  }
  return bytes;
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

}  // namespace ridge::front::openai
