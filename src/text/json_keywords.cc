#include "text/json_keywords.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <nlohmann/json.hpp>

namespace ridge::text {
namespace {

struct KnownKeyword {
  std::string_view name;
  Keyword about;
};
// Keywords that restrict documents in JSON Schema 2020-12 and its older drafts, and OpenAPI's `nullable`. Any other
// word is a note (2020-12 core, 6.5); so is `format` ("format-annotation"), which is looked at for some strings only.
constexpr KnownKeyword kKnownKeywords[] = {
    {"$ref", Keyword::kSchemas},
    {"anyOf", Keyword::kSchemas},
    {"oneOf", Keyword::kSchemas},
    {"allOf", Keyword::kSchemas},
    {"not", Keyword::kSchemas},
    {"if", Keyword::kSchemas},
    {"enum", Keyword::kValues},
    {"const", Keyword::kValues},
    {"type", Keyword::kType},
    {"nullable", Keyword::kNullable},
    {"properties", Keyword::kObject},
    {"required", Keyword::kObject},
    {"patternProperties", Keyword::kObject},
    {"additionalProperties", Keyword::kObject},
    {"propertyNames", Keyword::kObject},
    {"minProperties", Keyword::kObject},
    {"maxProperties", Keyword::kObject},
    {"dependencies", Keyword::kObject},
    {"dependentRequired", Keyword::kObject},
    {"dependentSchemas", Keyword::kObject},
    {"items", Keyword::kArray},
    {"prefixItems", Keyword::kArray},
    {"additionalItems", Keyword::kArray},
    {"uniqueItems", Keyword::kArray},
    {"minItems", Keyword::kArray},
    {"maxItems", Keyword::kArray},
    {"pattern", Keyword::kString},
    {"minLength", Keyword::kString},
    {"maxLength", Keyword::kString},
    {"minimum", Keyword::kNumber},
    {"maximum", Keyword::kNumber},
    {"exclusiveMinimum", Keyword::kNumber},
    {"exclusiveMaximum", Keyword::kNumber},
    {"multipleOf", Keyword::kNumber},
};
constexpr std::string_view kRefused[] = {"$dynamicRef", "$recursiveRef", "contains",         "disallow",
                                         "divisibleBy", "extends",       "unevaluatedItems", "unevaluatedProperties"};
constexpr std::string_view kTypes[] = {"object", "array", "string", "number", "integer", "boolean", "null"};
constexpr uint32_t kMostCounted = 1'000'000;

std::string unescaped(std::string_view token) {
  std::string text;
  for (size_t i = 0; i < token.size(); ++i) {
    const std::string hexadecimal(token.substr(std::min(i + 1, token.size()), 2));
    if (token[i] == '%' && hexadecimal.size() == 2 &&
        hexadecimal.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos) {
      text += static_cast<char>(std::stoi(hexadecimal, nullptr, 16));
      i += 2;
    } else {
      text += token[i];
    }
  }
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '~' && i + 1 < text.size() && (text[i + 1] == '0' || text[i + 1] == '1');
    plain += escape ? (text[++i] == '0' ? '~' : '/') : text[i];
  }
  return plain;
}

const Json* member_at(const Json& json, const std::string& token) {
  if (json.is_object()) {
    const auto found = json.find(token);
    return found == json.end() ? nullptr : &*found;
  }
  if (!json.is_array() || token.empty() || token.size() > 9 ||
      token.find_first_not_of("0123456789") != std::string::npos)
    return nullptr;
  const size_t index = std::stoul(token);
  return index < json.size() ? &json[index] : nullptr;
}

}  // namespace

Error schema_error(Code code, const std::string& place, const std::string& message) {
  return {code, fmt::format("JSON schema, {}: {}", place, message)};
}

std::string place_of(const std::string& place, std::string_view member) {
  std::string text = place + "/";
  for (const char c : member) text += c == '~' ? std::string("~0") : c == '/' ? std::string("~1") : std::string(1, c);
  return text;
}

Result<Keyword> keyword_of(std::string_view name, const std::string& place) {
  const auto* found = std::ranges::find(kKnownKeywords, name, &KnownKeyword::name);
  if (found != std::end(kKnownKeywords)) return found->about;
  if (std::ranges::find(kRefused, name) == std::end(kRefused)) return Keyword::kNote;
  return schema_error(Code::kUnsupported, place_of(place, name),
                      "this keyword is not supported; leave it out and say in `description` what it asks for");
}

ItemWords words_of_items(const Json& schema) {
  const auto items = schema.find("items");
  if (items != schema.end() && items->is_array()) return {"items", "additionalItems", true};
  return {"prefixItems", "items", false};
}

Result<const Json*> resolve(const Json& root, const Json& reference, const std::string& place) {
  const std::string* text = reference.is_string() ? reference.get_ptr<const std::string*>() : nullptr;
  if (!text || (*text != "#" && !text->starts_with("#/")))
    return schema_error(Code::kUnsupported, place,
                        "only references within the schema (\"#\", \"#/$defs/name\") are supported, found " +
                            dump_json(reference).substr(0, 80));
  const Json* at = &root;
  for (size_t begin = 2; begin <= text->size();) {
    const size_t end = std::min(text->find('/', begin), text->size());
    at = member_at(*at, unescaped(std::string_view(*text).substr(begin, end - begin)));
    if (!at)
      return schema_error(Code::kInvalid, place, fmt::format("the schema has nothing at {}", dump_json(reference)));
    begin = end + 1;
  }
  return at;
}

bool is_of_type(const Json& value, std::string_view type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "null") return value.is_null();
  if (type == "number") return value.is_number();
  if (value.is_number_float()) return std::nearbyint(value.get<double>()) == value.get<double>();
  return value.is_number();
}

Result<std::vector<std::string>> types_of(const Json& schema, const std::string& place) {
  const Json& given = schema["type"];
  std::vector<std::string> types;
  const Json list = given.is_array() ? given : Json::array({given});
  for (const Json& type : list) {
    if (!type.is_string() || std::ranges::find(kTypes, type.get<std::string>()) == std::end(kTypes))
      return schema_error(
          Code::kInvalid, place_of(place, "type"),
          fmt::format("should be object, array, string, number, integer, boolean, null or a list of them, found {}",
                      dump_json(given).substr(0, 80)));
    types.push_back(type.get<std::string>());
  }
  return types;
}

const char* type_about(Keyword about) {
  switch (about) {
    case Keyword::kObject: return "object";
    case Keyword::kArray: return "array";
    case Keyword::kString: return "string";
    case Keyword::kNumber: return "number";
    default: return nullptr;
  }
}

Result<uint32_t> count_or(const Json& schema, const char* name, uint32_t otherwise, const std::string& place) {
  const auto found = schema.find(name);
  if (found == schema.end()) return otherwise;
  if (found->is_number() && is_of_type(*found, "integer")) {
    const double count = found->get<double>();
    if (count >= 0 && count <= kMostCounted) return static_cast<uint32_t>(count);
  }
  return schema_error(
      Code::kInvalid, place_of(place, name),
      fmt::format("should be an integer from 0 to {}, found {}", kMostCounted, dump_json(*found).substr(0, 80)));
}

}  // namespace ridge::text
