#include "front/request_json.h"

#include <new>

#include "front/body.h"

namespace ridge::front {
namespace {

namespace dom = simdjson::dom;

constexpr size_t kMaxDepth = 110;  // of the JSON text: 100 for data, the rest around it

static_assert(Body::kPadding >= simdjson::SIMDJSON_PADDING);

const char* type_text(const dom::element& value) {
  switch (value.type()) {
    case dom::element_type::ARRAY: return "a list";
    case dom::element_type::OBJECT: return "an object";
    case dom::element_type::STRING: return "a string";
    case dom::element_type::BOOL: return "a boolean";
    case dom::element_type::NULL_VALUE: return "null";
    default: return "a number";
  }
}

// simdjson refuses integers beyond 64 bits, which JSON allows and floating point tensors can hold: the same text with
// such integers written as fractions.
std::string with_long_integers_as_fractions(std::string_view json) {
  constexpr size_t kSafeDigits = 18;
  auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::string result;
  result.reserve(json.size() + 64 + simdjson::SIMDJSON_PADDING);
  bool in_string = false;
  for (size_t i = 0; i < json.size();) {
    char c = json[i];
    if (in_string && c == '\\' && i + 1 < json.size()) {
      result.append(json, i, 2);
      i += 2;
      continue;
    }
    if (c == '"') in_string = !in_string;
    size_t end = i + 1;
    if (!in_string && is_digit(c)) {
      while (end < json.size() && is_digit(json[end])) ++end;
      result.append(json, i, end - i);
      char before = i > 0 ? json[i - 1] : ' ', after = end < json.size() ? json[end] : ' ';
      bool whole = after != '.' && after != 'e' && after != 'E' && before != '.' && before != '+' && before != 'e' &&
                   before != 'E';
      if (before == '-' && i > 1 && (json[i - 2] == 'e' || json[i - 2] == 'E')) whole = false;
      if (whole && end - i > kSafeDigits + (before == '-' ? 0 : 1)) result += ".0";
    } else {
      result += c;
    }
    i = end;
  }
  return result;
}

}  // namespace

JsonParser::JsonParser() {
  if (parser_.allocate(4096, kMaxDepth) != simdjson::SUCCESS) throw std::bad_alloc();
}

Result<dom::object> JsonParser::parse(std::string_view json) {
  simdjson::simdjson_result<dom::element> parsed = parser_.parse(json.data(), json.size(), false);
  if (parsed.error() != simdjson::SUCCESS && parsed.error() != simdjson::MEMALLOC) {
    std::string rewritten = with_long_integers_as_fractions(json);
    const size_t size = rewritten.size();
    rewritten.append(simdjson::SIMDJSON_PADDING, '\0');
    // The parsed text is copied: `rewritten` may be freed.
    if (size != json.size()) parsed = parser_.parse(rewritten.data(), size, false);
  }
  if (parsed.error() == simdjson::MEMALLOC) throw std::bad_alloc();
  if (parsed.error() == simdjson::DEPTH_ERROR)
    return invalid("the request is nested deeper than " + std::to_string(kMaxDepth));
  if (parsed.error() != simdjson::SUCCESS)
    return invalid(std::string("the request is not valid JSON: ") + simdjson::error_message(parsed.error()));
  dom::element root = parsed.value_unsafe();
  if (!root.is_object()) return wrong_type("the request", "a JSON object", root);
  return root.get_object().value_unsafe();
}

std::string in_quotes(std::string_view name) { return "'" + std::string(name) + "'"; }

Error wrong_type(std::string_view what, const char* expected, const dom::element& found) {
  return invalid(std::string(what) + " should be " + expected + ", found " + type_text(found));
}

Result<std::string_view> read_string(const dom::element& value, std::string_view what) {
  if (!value.is_string()) return wrong_type(what, "a string", value);
  return value.get_string().value_unsafe();
}

Result<bool> read_bool(const dom::element& value, std::string_view what) {
  if (!value.is_bool()) return wrong_type(what, "true or false", value);
  return value.get_bool().value_unsafe();
}

Result<int64_t> read_unsigned(const dom::element& value, std::string_view what) {
  if (value.is_int64() && value.get_int64().value_unsafe() >= 0) return value.get_int64().value_unsafe();
  return invalid(std::string(what) + " should be an unsigned integer, found " +
                 std::string(simdjson::minify(value)).substr(0, 60));
}

Status pick(const dom::object& object, std::span<const MemberTarget> wanted) {
  for (dom::key_value_pair member : object)
    for (const MemberTarget& target : wanted) {
      if (target.key != member.key) continue;
      if (target.into->has_value()) return invalid("member " + in_quotes(member.key) + " is given twice");
      *target.into = member.value;
    }
  return {};
}

}  // namespace ridge::front
