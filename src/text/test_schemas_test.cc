#include "text/test_schemas.h"

#include <algorithm>
#include <cmath>
#include <regex>
#include <vector>

namespace ridge::text {
namespace {

constexpr const char* kNames[] = {"a", "ab", "name", "é", "q\"t", "tab\t", "", "b c", "\x01", "slash/"};
constexpr const char* kPieces[] = {"a", "Z",  "0",    " ", "é", "€", "😀",   "\"",           "\\",
                                   "/", "\n", "\x02", "}", "]", ",", "\x7f", "\xed\x9f\xbf", "\xef\xbf\xbf"};

Json random_value(Dice& dice, int depth) {
  switch (dice.roll(depth > 2 ? 5 : 7)) {
    case 0: return nullptr;
    case 1: return dice.one_in(2);
    case 2: return dice.roll(2000) - 1000;
    case 3: return (dice.roll(200000) - 100000) / 64.0;
    case 4: return kNames[dice.roll(std::size(kNames))];
    case 5: {
      Json list = Json::array();
      for (int i = dice.roll(3); i > 0; --i) list.push_back(random_value(dice, depth + 1));
      return list;
    }
    default: {
      Json object = Json::object();
      for (int i = dice.roll(3); i > 0; --i)
        object[kNames[dice.roll(std::size(kNames))]] = random_value(dice, depth + 1);
      return object;
    }
  }
}

class SchemaDice {
 public:
  explicit SchemaDice(Dice& dice) : dice_(dice) {}

  Json schema(int depth) {
    Json made = plain(depth);
    if (dice_.one_in(6)) made["description"] = "any words";
    if (dice_.one_in(12)) made["nullable"] = true;
    return made;
  }

 private:
  Json plain(int depth) {
    switch (dice_.roll(depth > 2 ? 5 : 11)) {
      case 0: return string();
      case 1: return number();
      case 2: return {{"type", dice_.one_in(2) ? Json("boolean") : Json::array({"null", "integer", "boolean"})}};
      case 3: return values();
      case 4: return dice_.one_in(4) ? Json::object({{"title", "anything"}}) : string();
      case 5:
      case 6: return array(depth);
      case 7:
        if (depth > 0) return {{"$ref", dice_.one_in(2) ? "#/$defs/tree" : "#/$defs/pair~1x"}};
        return object(depth);
      case 8: {
        Json list = Json::array();
        const bool any = dice_.one_in(2);
        for (int i = 1 + dice_.roll(3); i > 0; --i)
          list.push_back(any ? schema(depth + 1)
                             : Json{{"type", "object"},
                                    {"properties", {{"kind", {{"const", i}}}, {"value", schema(depth + 1)}}},
                                    {"required", {"kind", "value"}}});
        return {{any ? "anyOf" : "oneOf", list}};
      }
      case 9:
        return {{"allOf", Json::array({{{"$ref", "#/$defs/pair~1x"}},
                                       {{"type", "object"}, {"properties", {{"third", schema(depth + 1)}}}}})}};
      default: return object(depth);
    }
  }
  Json string() {
    Json made = {{"type", "string"}};
    const int least = dice_.roll(4);
    if (dice_.one_in(3)) made["minLength"] = least;
    if (dice_.one_in(3)) made["maxLength"] = least + dice_.roll(5);
    return made;
  }
  Json number() {
    const bool whole = dice_.one_in(2);
    Json made = {{"type", whole ? "integer" : "number"}};
    const int low = dice_.roll(3000) - 1500, high = low + 2 + dice_.roll(500);
    if (dice_.one_in(3)) made[dice_.one_in(2) ? "minimum" : "exclusiveMinimum"] = whole ? Json(low) : Json(low / 16.0);
    if (dice_.one_in(3))
      made[dice_.one_in(2) ? "maximum" : "exclusiveMaximum"] = whole ? Json(high) : Json(high / 16.0);
    return made;
  }
  Json values() {
    if (dice_.one_in(3)) return {{"const", random_value(dice_, 0)}};
    Json list = Json::array();
    for (int i = 1 + dice_.roll(5); i > 0; --i) list.push_back(random_value(dice_, 0));
    return {{"enum", list}};
  }
  Json array(int depth) {
    Json made = {{"type", "array"}};
    int least = dice_.roll(4);
    const bool prefix = dice_.one_in(3), items = !dice_.one_in(4);
    if (prefix)
      for (int i = 1 + dice_.roll(2); i > 0; --i) made["prefixItems"].push_back(schema(depth + 1));
    if (items) made["items"] = schema(depth + 1);
    if (prefix && !items) least = std::min<int>(least, static_cast<int>(made["prefixItems"].size()));
    if (dice_.one_in(2)) made["minItems"] = least;
    if (dice_.one_in(2)) made["maxItems"] = least + dice_.roll(4);
    return made;
  }
  Json object(int depth) {
    Json made = {{"type", "object"}, {"properties", Json::object()}};
    for (int i = dice_.roll(5); i > 0; --i)
      made["properties"][kNames[dice_.roll(std::size(kNames))]] = schema(depth + 1);
    Json required = Json::array();
    for (const auto& [name, property] : made["properties"].items())
      if (dice_.one_in(2)) required.push_back(name);
    if (!required.empty()) made["required"] = required;
    if (dice_.one_in(3)) made["additionalProperties"] = dice_.one_in(2) ? Json(dice_.one_in(2)) : schema(depth + 1);
    return made;
  }

  Dice& dice_;
};

size_t code_points(const std::string& text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; }));
}

const Json& referred(const Json& root, const Json& schema) {
  return root.at(Json::json_pointer(schema["$ref"].get<std::string>().substr(1)));
}

bool has_type(const Json& value, const std::string& type) {
  return (type == "object" && value.is_object()) || (type == "array" && value.is_array()) ||
         (type == "string" && value.is_string()) || (type == "boolean" && value.is_boolean()) ||
         (type == "null" && value.is_null()) || (type == "number" && value.is_number()) ||
         (type == "integer" && value.is_number() && std::floor(value.get<double>()) == value.get<double>());
}

bool has_valid_members(const Json& root, const Json& schema, const Json& document) {
  if (document.size() < schema.value("minProperties", size_t{0}) ||
      document.size() > schema.value("maxProperties", document.size()))
    return false;
  const Json dependent = schema.value("dependentRequired", Json::object());
  for (const auto& [name, others] : dependent.items())
    for (const Json& other : others)
      if (document.contains(name) && !document.contains(other.get<std::string>())) return false;
  const Json patterns = schema.value("patternProperties", Json::object());
  for (const Json& name : schema.value("required", Json::array()))
    if (!document.contains(name.get<std::string>())) return false;
  const Json properties = schema.value("properties", Json::object());
  for (const auto& [name, value] : document.items()) {
    bool matched = false;
    for (const auto& [pattern, property] : patterns.items()) {
      if (!std::regex_search(name, std::regex(pattern))) continue;
      matched = true;
      if (!is_valid(root, property, value)) return false;
    }
    if (matched && !properties.contains(name)) continue;
    if (properties.contains(name)
            ? !is_valid(root, properties[name], value)
            : schema.contains("additionalProperties") && !is_valid(root, schema["additionalProperties"], value))
      return false;
  }
  return true;
}

bool has_valid_items(const Json& root, const Json& schema, const Json& document) {
  if (document.size() < schema.value("minItems", size_t{0}) ||
      document.size() > schema.value("maxItems", document.size()))
    return false;
  const Json prefix = schema.value("prefixItems", Json::array());
  for (size_t i = 0; i < document.size(); ++i) {
    if (i < prefix.size() ? !is_valid(root, prefix[i], document[i])
                          : schema.contains("items") && !is_valid(root, schema["items"], document[i]))
      return false;
  }
  return true;
}

bool is_within(const Json& schema, const Json& document) {
  const double value = document.get<double>();
  if (schema.contains("multipleOf") && std::remainder(value, schema["multipleOf"].get<double>()) != 0) return false;
  return value >= schema.value("minimum", value) && value <= schema.value("maximum", value) &&
         (!schema.contains("exclusiveMinimum") || value > schema["exclusiveMinimum"].get<double>()) &&
         (!schema.contains("exclusiveMaximum") || value < schema["exclusiveMaximum"].get<double>());
}

std::string escaped(char32_t unit) {
  char text[8];
  std::snprintf(text, sizeof text, "\\u%04x", static_cast<unsigned>(unit));
  return text;
}

// A string with some of its ASCII characters as \u00xx.
std::string write_string(const std::string& text, Dice& dice) {
  std::string written = "\"";
  for (const char c : text) {
    const std::string one = dump_json(Json(std::string(1, c)));
    if (static_cast<uint8_t>(c) >= 0x80) {
      written += c;
    } else {
      written += dice.one_in(8) ? escaped(static_cast<uint8_t>(c)) : one.substr(1, one.size() - 2);
    }
  }
  return written + "\"";
}

bool within_quotes(const JsonState& state) {
  const auto& branches = state.states()->branches(state.number());
  return std::any_of(branches.begin(), branches.end(), [&](const JsonBranch& branch) {
    const JsonNode& node = state.states()->machine().node_of(branch);
    if (node.kind == JsonNode::kText) return branch.state != json_lexer().text_start;
    return node.kind == JsonNode::kCharacters && branch.state != node.a;
  });
}

}  // namespace

Json random_schema(Dice& dice) {
  SchemaDice schemas(dice);
  Json root = schemas.schema(0);
  root["$defs"]["pair/x"] = {
      {"type", "object"},
      {"properties", {{"one", {{"type", "integer"}}}, {"two", {{"type", "string"}, {"maxLength", 3}}}}},
      {"required", {"one"}}};
  root["$defs"]["tree"] = {{"type", "object"},
                           {"properties",
                            {{"value", schemas.schema(3)},
                             {"left", {{"anyOf", {{{"$ref", "#/$defs/tree"}}, {{"type", "null"}}}}}},
                             {"children", {{"type", "array"}, {"items", {{"$ref", "#/$defs/tree"}}}}}}},
                           {"required", {"value", "left"}},
                           {"additionalProperties", false}};
  return root;
}

Json random_joined_schema(Dice& dice) {
  const auto number = [&] { return Json{{"type", "integer"}, {"maximum", dice.roll(50)}}; };
  const auto word = [&]() -> std::pair<std::string, Json> {
    const char* names[] = {"a", "ab", "b", "abc"};
    const char* patterns[] = {"^a", "b$", "^[a-c]+$", "c"};
    const std::string name = names[dice.roll(4)], pattern = patterns[dice.roll(4)];
    const int least = dice.roll(3);
    switch (dice.roll(18)) {
      case 0: return {"minLength", least};
      case 1: return {"maxLength", least + dice.roll(3)};
      case 2: return {"pattern", pattern};
      case 3: return {"minimum", dice.roll(30)};
      case 4: return {"exclusiveMaximum", 20 + dice.roll(30)};
      case 5: return {"multipleOf", 1 + dice.roll(9)};
      case 6: return {"properties", {{name, number()}, {"c", {{"type", "string"}}}}};
      case 7: return {"patternProperties", {{pattern, dice.one_in(4) ? Json(false) : Json{{"multipleOf", 2}}}}};
      case 8: return {"additionalProperties", dice.one_in(2) ? Json(false) : number()};
      case 9: return {"required", {name}};
      case 10: return {"minProperties", least};
      case 11: return {"maxProperties", least + dice.roll(3)};
      case 12: return {"dependentRequired", {{name, {"b"}}}};
      case 13: return {"items", number()};
      case 14: return {"prefixItems", {number(), {{"type", "string"}}}};
      case 15: return {"minItems", least};
      case 16: return {"enum", {"a", "abc", 4, 6, Json{{"a", 2}}, Json::array({1, "a"}), nullptr}};
      default: return {"type", dice.one_in(2) ? Json("object") : Json::array({"string", "integer", "object", "array"})};
    }
  };
  const auto plain = [&] {
    Json schema = Json::object();
    for (int i = 1 + dice.roll(4); i > 0; --i) {
      const auto [name, value] = word();
      schema[name] = value;
    }
    return schema;
  };
  Json schema = plain();
  for (int i = 1 + dice.roll(2); i > 0; --i) {
    switch (dice.roll(7)) {
      case 0: schema["anyOf"] = {plain(), plain()}; break;
      case 1: schema["oneOf"] = {plain(), plain(), plain()}; break;
      case 2: schema["allOf"] = {plain(), plain()}; break;
      case 3: schema["not"] = plain(); break;
      case 4:
        schema["if"] = plain();
        schema["then"] = plain();
        if (dice.one_in(2)) schema["else"] = plain();
        break;
      case 5: schema["$ref"] = "#/$defs/other"; break;
      default: schema["nullable"] = true;
    }
  }
  schema["$defs"]["other"] = plain();
  return schema;
}

Json random_document(const Json& root, const Json& schema, Dice& dice, int depth) {
  if (schema.is_boolean()) return random_value(dice, depth);
  if (schema.value("nullable", false) && dice.one_in(3)) return nullptr;
  if (schema.contains("$ref")) return random_document(root, referred(root, schema), dice, depth);
  for (const char* name : {"anyOf", "oneOf"}) {
    if (!schema.contains(name)) continue;
    const Json& list = schema[name];
    const size_t last = list.size() - 1;  // it ends what is recursive
    return random_document(root, list[depth > 6 ? last : static_cast<size_t>(dice.roll(static_cast<int>(list.size())))],
                           dice, depth + 1);
  }
  if (schema.contains("allOf")) {
    Json merged = Json::object();
    for (const Json& part : schema["allOf"]) merged.update(random_document(root, part, dice, depth));
    return merged;
  }
  if (schema.contains("const")) return schema["const"];
  if (schema.contains("enum")) return schema["enum"][dice.roll(static_cast<int>(schema["enum"].size()))];
  if (!schema.contains("type")) return random_value(dice, 0);
  const Json types = schema["type"].is_array() ? schema["type"] : Json::array({schema["type"]});
  const auto type = types[dice.roll(static_cast<int>(types.size()))].get<std::string>();
  if (type == "null") return nullptr;
  if (type == "boolean") return dice.one_in(2);
  if (type == "integer" || type == "number") {
    const bool whole = type == "integer";
    for (;;) {  // near its bounds, where it has some
      const double middle = schema.value(
          "minimum", schema.value("exclusiveMinimum", schema.value("maximum", schema.value("exclusiveMaximum", 0.0))));
      const double offset = (dice.roll(4001) - 2000) / (dice.one_in(2) ? 64.0 : 1.0);
      const Json made = whole ? Json(static_cast<int64_t>(std::floor(middle + offset))) : Json(middle + offset);
      if (is_within(schema, made)) return made;
    }
  }
  if (type == "string") {
    const int least = schema.value("minLength", 0), most = schema.value("maxLength", least + 6);
    std::string text;
    for (int i = least + dice.roll(most - least + 1); i > 0; --i) text += kPieces[dice.roll(std::size(kPieces))];
    return text;
  }
  if (type == "array") {
    const Json prefix = schema.value("prefixItems", Json::array());
    const size_t least = schema.value("minItems", size_t{0});
    const size_t free_end = schema.contains("items") || prefix.empty() ? least + 3 : prefix.size();
    const size_t most = std::min(schema.value("maxItems", free_end), depth > 6 ? least : free_end);
    const size_t count = least + static_cast<size_t>(dice.roll(static_cast<int>(most - least) + 1));
    Json list = Json::array();
    const Json anything = true;
    for (size_t i = 0; i < count; ++i)
      list.push_back(random_document(root,
                                     i < prefix.size()          ? prefix[i]
                                     : schema.contains("items") ? schema["items"]
                                                                : anything,
                                     dice, depth + 1));
    return list;
  }
  Json object = Json::object();
  const Json required = schema.value("required", Json::array());
  const Json properties = schema.value("properties", Json::object());
  for (const auto& [name, property] : properties.items()) {
    const bool needed = std::find(required.begin(), required.end(), Json(name)) != required.end();
    if (needed || (depth < 6 && dice.one_in(2))) object[name] = random_document(root, property, dice, depth + 1);
  }
  if (schema.contains("additionalProperties") && schema["additionalProperties"] != false)
    for (const char* name : {"other", "a\\b", "\x1f", "abc"})
      if (dice.one_in(4)) object[name] = random_document(root, schema["additionalProperties"], dice, depth + 1);
  return object;
}

std::string write_randomly(const Json& document, Dice& dice) {
  const auto space = [&] {
    const std::string run = std::string("\n\t\r    ").substr(0, static_cast<size_t>(dice.roll(8)));
    return dice.one_in(2) ? "" : run;
  };
  if (document.is_string()) return write_string(document.get<std::string>(), dice);
  if (!document.is_structured()) return dump_json(document);
  std::string text = document.is_object() ? "{" : "[";
  text += space();
  bool first = true;
  for (const auto& [name, value] : document.items()) {
    if (!first) text += "," + space();
    first = false;
    if (document.is_object()) text += dump_json(Json(name)) + ":" + space();
    text += write_randomly(value, dice);
  }
  if (!first) text += space();
  return text + (document.is_object() ? "}" : "]");
}

bool is_valid(const Json& root, const Json& schema, const Json& document) {
  if (schema.is_boolean()) return schema.get<bool>();
  if (schema.value("nullable", false) && document.is_null()) return true;
  if (schema.contains("$ref") && !is_valid(root, referred(root, schema), document)) return false;
  for (const char* name : {"anyOf", "oneOf"}) {
    if (!schema.contains(name)) continue;
    const auto valid = std::count_if(schema[name].begin(), schema[name].end(),
                                     [&](const Json& part) { return is_valid(root, part, document); });
    if (name[0] == 'a' ? valid == 0 : valid != 1) return false;
  }
  if (schema.contains("not") && is_valid(root, schema["not"], document)) return false;
  if (schema.contains("if")) {
    const char* name = is_valid(root, schema["if"], document) ? "then" : "else";
    if (schema.contains(name) && !is_valid(root, schema[name], document)) return false;
  }
  if (schema.contains("allOf") && !std::all_of(schema["allOf"].begin(), schema["allOf"].end(),
                                               [&](const Json& part) { return is_valid(root, part, document); }))
    return false;
  if (schema.contains("const") && document != schema["const"]) return false;
  if (schema.contains("enum") &&
      std::find(schema["enum"].begin(), schema["enum"].end(), document) == schema["enum"].end())
    return false;
  if (schema.contains("type")) {
    const Json types = schema["type"].is_array() ? schema["type"] : Json::array({schema["type"]});
    if (std::none_of(types.begin(), types.end(),
                     [&](const Json& type) { return has_type(document, type.get<std::string>()); }))
      return false;
  }
  if (document.is_string()) {
    const auto text = document.get<std::string>();
    const size_t length = code_points(text);
    if (schema.contains("pattern") && !std::regex_search(text, std::regex(schema["pattern"].get<std::string>())))
      return false;
    return length >= schema.value("minLength", size_t{0}) && length <= schema.value("maxLength", length);
  }
  if (document.is_number()) return is_within(schema, document);
  if (document.is_array()) return has_valid_items(root, schema, document);
  return !document.is_object() || has_valid_members(root, schema, document);
}

std::string end_document(JsonState state) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte)
    if (byte != ' ' && byte != '\n' && byte != '\r' && byte != '\t') all += static_cast<char>(byte);
  all += " \t";
  std::string text;
  while (!state.may_end() && text.size() < 100'000) {
    // Ends come first, then short ones; white space, which changes nothing, comes last.
    // Characters take turns, as patterns may want another at the end.
    std::string characters = "0123456789xabcdef\\";
    std::rotate(characters.begin(), characters.begin() + static_cast<int>(text.size() % characters.size()),
                characters.end());
    const std::string order = (within_quotes(state) ? "\"" + characters : "}]\":,0123456789tfn-.") + all;
    const size_t before = text.size();
    for (const char byte : order) {
      if (!state.accept(std::string_view(&byte, 1))) continue;
      text += byte;
      break;
    }
    if (text.size() == before) return "";
  }
  return state.may_end() ? text : "";
}

}  // namespace ridge::text
