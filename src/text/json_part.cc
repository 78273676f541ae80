#include "text/json_part.h"

#include <fmt/format.h>

#include "text/unicode.h"

namespace ridge::text {

Result<JsonPart> JsonPart::from(simdjson::dom::element element, std::string where) {
  simdjson::dom::object object;
  if (element.get(object)) return invalid(where + " should be an object");
  return JsonPart(object, std::move(where));
}

Error JsonPart::wrong(std::string_view key, std::string_view expected) const {
  const bool there = object_.at_key(key).error() == simdjson::SUCCESS;
  return invalid(fmt::format("{}: '{}' {} {}", where_, key, there ? "should be" : "is missing, expected", expected));
}

Error JsonPart::unknown(std::string_view type, std::string_view known) const {
  return {Code::kUnsupported, fmt::format("{}: type '{}' is not supported; known are {}", where_, type, known)};
}

bool JsonPart::has(std::string_view key) const {
  simdjson::dom::element element;
  return !object_.at_key(key).get(element) && !element.is_null();
}

template <typename T>
Result<T> JsonPart::get(std::string_view key, std::string_view expected) const {
  T value;
  if (object_.at_key(key).get(value)) return wrong(key, expected);
  return value;
}

Result<std::string_view> JsonPart::text(std::string_view key) const { return get<std::string_view>(key, "a string"); }
Result<std::string_view> JsonPart::text_or(std::string_view key, std::string_view otherwise) const {
  return has(key) ? text(key) : otherwise;
}
Result<bool> JsonPart::boolean_or(std::string_view key, bool otherwise) const {
  return has(key) ? get<bool>(key, "true or false") : otherwise;
}
Result<int64_t> JsonPart::integer_or(std::string_view key, int64_t otherwise) const {
  return has(key) ? get<int64_t>(key, "an integer") : otherwise;
}
Result<JsonPart> JsonPart::object(std::string_view key) const {
  RIDGE_ASSIGN(const auto element, get<simdjson::dom::element>(key, "an object"));
  return from(element, fmt::format("{}.{}", where_, key));
}
Result<simdjson::dom::array> JsonPart::array(std::string_view key) const {
  return get<simdjson::dom::array>(key, "an array");
}

Result<std::vector<JsonPart>> JsonPart::objects(std::string_view key) const {
  RIDGE_ASSIGN(const simdjson::dom::array elements, array(key));
  std::vector<JsonPart> parts;
  for (const simdjson::dom::element element : elements) {
    RIDGE_ASSIGN(JsonPart part, from(element, fmt::format("{}.{}[{}]", where_, key, parts.size())));
    parts.push_back(std::move(part));
  }
  return parts;
}

Result<char32_t> JsonPart::character(std::string_view key) const {
  RIDGE_ASSIGN(const std::string_view value, text(key));
  if (count_code_points(value) != 1) return wrong(key, "one character");
  size_t at = 0;
  return next_code_point(value, at);
}

}  // namespace ridge::text
