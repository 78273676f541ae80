#include "base/json.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>

namespace ridge {
namespace {

constexpr int kMaxDepth = 200;

template <typename T>
constexpr const char* kTypeName = "";
template <>
constexpr const char* kTypeName<bool> = "a boolean";
template <>
constexpr const char* kTypeName<int64_t> = "an integer";
template <>
constexpr const char* kTypeName<double> = "a number";
template <>
constexpr const char* kTypeName<std::string> = "a string";

template <typename T>
bool holds(const Json& json) {
  if constexpr (std::is_same_v<T, bool>) return json.is_boolean();
  if constexpr (std::is_same_v<T, int64_t>) return json.is_number_integer();
  if constexpr (std::is_same_v<T, double>) return json.is_number();
  if constexpr (std::is_same_v<T, std::string>) return json.is_string();
}

// Most brackets open at a time, outside of texts. The library's own hook for it takes quadratic time.
int depth_of(std::string_view text) {
  int depth = 0, deepest = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') quoted = !quoted;
    if (quoted && c == '\\') ++i;
    if (!quoted && (c == '[' || c == '{')) deepest = std::max(deepest, ++depth);
    if (!quoted && (c == ']' || c == '}')) --depth;
  }
  return deepest;
}

}  // namespace

Result<Json> parse_json(std::string_view text, std::string_view what) {
  if (depth_of(text) > kMaxDepth)
    return Error{Code::kInvalid, std::string(what) + ": JSON is nested deeper than " + std::to_string(kMaxDepth)};
  try {
    return Json::parse(text.begin(), text.end());
  } catch (const Json::exception& e) {
    return Error{Code::kInvalid, std::string(what) + ": not valid JSON: " + e.what()};
  }
}

std::string dump_json(const Json& json, bool pretty) {
  return json.dump(pretty ? 2 : -1, ' ', false, Json::error_handler_t::replace);
}

template <typename T>
Result<T> json_member(const Json& json, const char* key) {
  if (!json.is_object()) return Error{Code::kInvalid, std::string("expected a JSON object with member '") + key + "'"};
  auto found = json.find(key);
  if (found == json.end()) return Error{Code::kInvalid, std::string("member '") + key + "' is missing"};
  if (!holds<T>(*found))
    return Error{Code::kInvalid, std::string("member '") + key + "' should be " + kTypeName<T> + ", found " +
                                     dump_json(*found).substr(0, 80)};
  return found->template get<T>();
}

template <typename T>
Result<T> json_member_or(const Json& json, const char* key, T otherwise) {
  if (json.is_object()) {
    auto found = json.find(key);
    if (found == json.end() || found->is_null()) return otherwise;
  }
  return json_member<T>(json, key);
}

template Result<bool> json_member(const Json&, const char*);
template Result<int64_t> json_member(const Json&, const char*);
template Result<double> json_member(const Json&, const char*);
template Result<std::string> json_member(const Json&, const char*);
template Result<bool> json_member_or(const Json&, const char*, bool);
template Result<int64_t> json_member_or(const Json&, const char*, int64_t);
template Result<double> json_member_or(const Json&, const char*, double);
template Result<std::string> json_member_or(const Json&, const char*, std::string);

}  // namespace ridge
