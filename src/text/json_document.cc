#include "text/json_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "text/json_keywords.h"
#include "text/json_program.h"
#include "text/unicode.h"

namespace ridge::text {
namespace {

constexpr size_t kMostReferences = 5000, kMostMade = 100'000, kMostHeld = 1'000'000;
constexpr size_t kLongestReference = 4096;  // [bytes]
constexpr int kDeepest = 500;               // schemas within schemas that one value is held against

const Json kAllTypes = {"object", "array", "string", "number", "boolean", "null"};

Json all_of(Json first, Json second) { return {{"allOf", Json::array({std::move(first), std::move(second)})}}; }
Json typed(const char* type, const char* name, Json value) { return {{"type", type}, {name, std::move(value)}}; }
Json without_member(const Json& name) { return typed("object", "properties", {{name.get<std::string>(), false}}); }

Json types_but(const std::vector<std::string>& types) {
  Json rest = Json::array();
  for (const Json& type : kAllTypes) {
    const bool listed = std::ranges::any_of(
        types, [&](const std::string& other) { return type == other || (type == "number" && other == "integer"); });
    if (!listed) rest.push_back(type);
  }
  return rest;
}

bool is_multiple(const Json& value, const Json& step) {
  const double quotient = value.get<double>() / step.get<double>();
  return std::abs(quotient - std::nearbyint(quotient)) < 1e-9 * std::max(1.0, std::abs(quotient));
}

// A keyword's bound on a count or a number, and its value.
struct Bound {
  const char *name, *type, *beyond;
  int more;
};
constexpr Bound kBounds[] = {
    {"minimum", "number", "exclusiveMaximum", 0},
    {"maximum", "number", "exclusiveMinimum", 0},
    {"exclusiveMinimum", "number", "maximum", 0},
    {"exclusiveMaximum", "number", "minimum", 0},
    {"minLength", "string", "maxLength", -1},
    {"maxLength", "string", "minLength", 1},
    {"minItems", "array", "maxItems", -1},
    {"maxItems", "array", "minItems", 1},
    {"minProperties", "object", "maxProperties", -1},
    {"maxProperties", "object", "minProperties", 1},
};

// Values that are none of these; numbers only below and above them.
void add_other_values(const Json& values, Json& list) {
  std::vector<std::string> types;
  Json texts = Json::array();
  std::optional<double> least, most;
  bool truths[] = {false, false};
  for (const Json& value : values) {
    if (value.is_string()) texts.push_back(value);
    if (value.is_boolean()) truths[value.get<bool>() ? 1 : 0] = true;
    if (value.is_number()) {
      least = std::min(least.value_or(value.get<double>()), value.get<double>());
      most = std::max(most.value_or(value.get<double>()), value.get<double>());
    }
    for (const Json& type : kAllTypes)
      if (is_of_type(value, type.get<std::string>())) types.push_back(type.get<std::string>());
  }
  list.push_back({{"type", types_but(types)}});
  if (!texts.empty())
    list.push_back(typed("string", "pattern", Json::array({Json::binary({}), nullptr, std::move(texts)})));
  if (least) list.push_back(typed("number", "exclusiveMaximum", *least));
  if (most) list.push_back(typed("number", "exclusiveMinimum", *most));
  if (truths[0] != truths[1]) list.push_back({{"const", truths[0]}});
}

}  // namespace

const Json* SchemaDocument::forbidden_pattern(const Json& pattern) {
  const bool marked = pattern.is_array() && pattern.size() > 1 && pattern[0].is_binary();
  return marked && pattern[1].is_string() ? &pattern[1] : nullptr;
}
const Json* SchemaDocument::forbidden_texts(const Json& pattern) {
  const bool marked = pattern.is_array() && pattern.size() > 2 && pattern[0].is_binary();
  return marked ? &pattern[2] : nullptr;
}

// Resolves its $ref. Members are looked up one by one: a schema of a megabyte has no more of them than can be
// looked for at once.
Result<const Json*> SchemaDocument::referred(const Json& schema, const std::string& place) {
  if (const Link* made = link_of(schema)) return made->schema;
  const Json& reference = schema["$ref"];
  const std::string at = place_of(place, "$ref");
  const std::string text = dump_json(reference);
  if (const auto known = references_.find(text); known != references_.end()) return known->second;
  if (text.size() > kLongestReference)
    return schema_error(Code::kExhausted, at, fmt::format("more than {} bytes", kLongestReference));
  if (references_.size() == kMostReferences)
    return schema_error(Code::kExhausted, at, fmt::format("more than {} different references", kMostReferences));
  RIDGE_ASSIGN(const Json* target, resolve(root_, reference, at));
  references_.emplace(text, target);
  return target;
}

// A binary value, which no document has, with the link's number.
const SchemaDocument::Link* SchemaDocument::link_of(const Json& schema) const {
  const auto reference = schema.find("$ref");
  return reference != schema.end() && reference->is_binary() ? &links_[reference->get_binary().subtype()] : nullptr;
}

Json SchemaDocument::link(const Json& schema, bool no_null) {
  const auto [number, added] = link_numbers_.emplace(std::pair(&schema, no_null), links_.size());
  if (added) links_.push_back({&schema, no_null});
  return {{"$ref", Json::binary({}, number->second)}};
}

Json SchemaDocument::negated(const Json& schema) { return {{"not", link(schema)}}; }

const Json* SchemaDocument::known(const Json& schema, const char* what) const {
  const auto list = lists_.find({&schema, what});
  return list == lists_.end() ? nullptr : list->second;
}

const Json* SchemaDocument::keep(const Json& schema, const char* what, Json made) {
  const Json* kept = &made_.emplace_back(std::move(made));
  return lists_.emplace(std::pair(&schema, what), kept).first->second;
}

const Json* SchemaDocument::nullable_list(const Json& schema) {
  if (const Json* list = known(schema, "nullable")) return list;
  return keep(schema, "nullable", Json::array({link(schema, true), Json{{"type", "null"}}}));
}

const Json* SchemaDocument::if_list(const Json& schema) {
  if (const Json* list = known(schema, "if")) return list;
  Json met = link(schema["if"]), unmet = negated(schema["if"]);
  if (const auto then = schema.find("then"); then != schema.end()) met = all_of(std::move(met), link(*then));
  if (const auto otherwise = schema.find("else"); otherwise != schema.end())
    unmet = all_of(std::move(unmet), link(*otherwise));
  return keep(schema, "if", Json::array({std::move(met), std::move(unmet)}));
}

Result<const Json*> SchemaDocument::dependencies(const Json& schema, const std::string& place) {
  if (const Json* list = known(schema, "dependencies")) return list;
  Json all = Json::array();
  for (const char* name : {"dependencies", "dependentRequired", "dependentSchemas"}) {
    const auto given = schema.find(name);
    if (given == schema.end()) continue;
    if (!given->is_object()) return schema_error(Code::kInvalid, place_of(place, name), "should be an object");
    for (const auto& [member, needs] : given->items()) {
      Json names = Json::array({member});
      if (needs.is_array()) names.insert(names.end(), needs.begin(), needs.end());
      Json there = typed("object", "required", std::move(names));
      if (!needs.is_array()) there = all_of(std::move(there), link(needs));
      all.push_back({{"anyOf", Json::array({std::move(there), without_member(member)})}});
    }
  }
  if (made_.size() + all.size() > kMostMade) return schema_error(Code::kExhausted, place, "too many `dependencies`");
  return keep(schema, "dependencies", {{"allOf", std::move(all)}});
}

Result<const Json*> SchemaDocument::one_of_list(const Json& schema, const std::string& place,
                                                const std::function<Result<bool>(const Json&, const Json&)>& apart) {
  if (const Json* list = known(schema, "oneOf")) return list;
  const Json& given = schema["oneOf"];
  Json list = Json::array();
  size_t excluded = 0;
  for (const Json& one : given) list.push_back({{"allOf", Json::array({link(one)})}});
  for (size_t i = 0; i < given.size(); ++i) {
    for (size_t j = i + 1; j < given.size(); ++j) {
      RIDGE_ASSIGN(const bool never_both, apart(given[i], given[j]));
      if (never_both) continue;
      if (excluded++ > kMostMade)
        return schema_error(Code::kExhausted, place_of(place, "oneOf"), "too many schemas that may hold together");
      list[i]["allOf"].push_back(negated(given[j]));
      list[j]["allOf"].push_back(negated(given[i]));
    }
  }
  return keep(schema, "oneOf", std::move(list));
}

Result<const Json*> SchemaDocument::not_list(const Json& schema, const std::string& place) {
  const Json& given = schema["not"];
  const Json* inner = &given;
  std::string at = place_of(place, "not");
  if (const Link* made = given.is_object() ? link_of(given) : nullptr; made) inner = made->schema;
  if (const Json* list = known(*inner, "not")) return list;
  if (!inner->is_boolean() && !inner->is_object())
    return schema_error(Code::kInvalid, at, "a schema should be an object, true or false");
  if (made_.size() > kMostMade) return schema_error(Code::kExhausted, at, "too many schemas that may not hold");
  Json list = Json::array();
  bool restricts = false;
  if (inner->is_boolean()) {
    if (!inner->get<bool>()) list.push_back(true);
  } else {
    for (const auto& [name, value] : inner->items()) {
      const Result<Keyword> about = keyword_of(name, at);
      restricts = restricts || !about || *about != Keyword::kNote;
    }
    RIDGE_TRY(add_negations(*inner, at, list));
    if (inner->value("nullable", Json(false)) == true)
      for (Json& each : list) each = all_of(std::move(each), {{"type", types_but({"null"})}});
  }
  if (restricts && list.empty())
    return schema_error(Code::kUnsupported, at, "what it forbids cannot be told apart; say what is allowed instead");
  const Json* kept = keep(*inner, "not", std::move(list));
  forbidden_by_.emplace(kept, inner);
  return kept;
}

// Each word that a value breaks is one way not to be valid. Ways that are left out are documents that are not written.
Status SchemaDocument::add_negations(const Json& schema, const std::string& place, Json& list) {
  if (schema.contains("$ref")) {
    RIDGE_ASSIGN(const Json* target, referred(schema, place));
    list.push_back(negated(*target));
  }
  const auto each = [&](const char* name, auto add) {
    const auto given = schema.find(name);
    if (given != schema.end()) add(*given);
  };
  each("type", [&](const Json&) {
    if (const auto types = types_of(schema, "")) list.push_back({{"type", types_but(*types)}});
  });
  each("const", [&](const Json& value) { add_other_values(Json::array({value}), list); });
  each("enum", [&](const Json& values) { add_other_values(values, list); });
  for (const Bound& bound : kBounds)
    each(bound.name, [&](const Json& value) {
      if (!value.is_number()) return;
      if (bound.more == 0) return list.push_back(typed(bound.type, bound.beyond, value));
      const double count = value.get<double>() + bound.more;
      if (count >= 0) list.push_back(typed(bound.type, bound.beyond, static_cast<uint64_t>(count)));
    });
  each("pattern", [&](const Json& pattern) {
    if (pattern.is_string())
      list.push_back(typed("string", "pattern", Json::array({Json::binary({}), pattern})));
    else if (const Json* forbidden = forbidden_pattern(pattern))
      list.push_back(typed("string", "pattern", *forbidden));
    else if (const Json* texts = forbidden_texts(pattern))
      list.push_back(typed("string", "enum", *texts));
  });
  each("required", [&](const Json& names) {
    for (const Json& name : names)
      if (name.is_string()) list.push_back(without_member(name));
  });
  each("properties", [&](const Json& properties) {
    for (const auto& [name, property] : properties.items()) {
      if (property == true || (property.is_object() && property.empty())) continue;
      Json member = typed("object", "properties", {{name, negated(property)}});
      member["required"] = Json::array({name});
      list.push_back(std::move(member));
    }
  });
  const auto item_at = [&](size_t index, const Json& item) {
    Json first = Json::array();
    for (size_t i = 0; i < index; ++i) first.push_back(true);
    first.push_back(negated(item));
    Json array = typed("array", "prefixItems", std::move(first));
    array["items"] = true;
    array["minItems"] = index + 1;
    list.push_back(std::move(array));
  };
  const ItemWords words = words_of_items(schema);
  size_t listed = 0;
  constexpr size_t kMostListed = 20;
  each(words.listed, [&](const Json& prefix) {
    for (; prefix.is_array() && listed < std::min(prefix.size(), kMostListed); ++listed)
      item_at(listed, prefix[listed]);
  });
  each(words.others, [&](const Json& items) { item_at(listed, items); });
  each("contains", [&](const Json& wanted) { list.push_back(typed("array", "items", negated(wanted))); });
  each("not", [&](const Json& inner) { list.push_back(link(inner)); });
  each("allOf", [&](const Json& parts) {
    for (const Json& part : parts) list.push_back(negated(part));
  });
  for (const char* name : {"anyOf", "oneOf"})
    each(name, [&](const Json& parts) {
      Json none = Json::array();
      for (const Json& part : parts) none.push_back(negated(part));
      list.push_back({{"allOf", std::move(none)}});
      constexpr size_t kMostPairs = 5;
      if (name[0] != 'o' || !parts.is_array() || parts.size() > kMostPairs) return;
      for (size_t i = 0; i < parts.size(); ++i)
        for (size_t j = i + 1; j < parts.size(); ++j) list.push_back(all_of(link(parts[i]), link(parts[j])));
    });
  each("if", [&](const Json& condition) {
    if (schema.contains("then")) list.push_back(all_of(link(condition), negated(schema["then"])));
    if (schema.contains("else")) list.push_back(all_of(negated(condition), negated(schema["else"])));
  });
  return {};
}

Result<bool> SchemaDocument::holds(const Json& value, const Json& schema, const std::string& place, int depth,
                                   bool listed) {
  if (schema.is_boolean()) return schema.get<bool>();
  if (!schema.is_object()) return schema_error(Code::kInvalid, place, "a schema should be an object, true or false");
  const bool is_looked_up = schema.contains("enum") && !listed;
  work_ += 1 + (is_looked_up ? schema["enum"].size() / 8 : 0);
  if (work_ > kMostHeld || depth > kDeepest)
    return schema_error(Code::kExhausted, place, "too many schemas that values of `enum` or `const` are held against");
  for (const auto& [name, given] : schema.items()) {
    if (name == "contains") continue;
    auto about = keyword_of(name, place);
    if (!about) return std::move(about).error();
  }
  if (value.is_null() && schema.value("nullable", Json(false)) == true) return true;
  const auto has = [&](const char* name) { return schema.contains(name); };
  if (has("const") && value != schema["const"]) return false;
  if (is_looked_up && std::ranges::find(schema["enum"], value) == schema["enum"].end()) return false;
  if (has("type")) {
    RIDGE_ASSIGN(const auto types, types_of(schema, place));
    if (std::ranges::none_of(types, [&](const std::string& type) { return is_of_type(value, type); })) return false;
  }
  if (value.is_number()) {
    const auto bound = [&](const char* name) { return has(name) && schema[name].is_number(); };
    const auto excludes = [&](const char* name) { return has(name) && schema[name] == true; };  // draft 4
    if ((excludes("exclusiveMinimum") && bound("minimum") && value == schema["minimum"]) ||
        (excludes("exclusiveMaximum") && bound("maximum") && value == schema["maximum"]))
      return false;
    if ((bound("minimum") && value < schema["minimum"]) || (bound("maximum") && value > schema["maximum"]) ||
        (bound("exclusiveMinimum") && value <= schema["exclusiveMinimum"]) ||
        (bound("exclusiveMaximum") && value >= schema["exclusiveMaximum"]) ||
        (bound("multipleOf") && !is_multiple(value, schema["multipleOf"])))
      return false;
  }
  const auto count_fits = [&](size_t count, const char* least, const char* most) -> Result<bool> {
    RIDGE_ASSIGN(const uint32_t from, count_or(schema, least, 0, place));
    RIDGE_ASSIGN(const uint32_t to, count_or(schema, most, kUnbounded, place));
    return count >= from && count <= to;
  };
  Result<bool> fits = true;
  if (value.is_string()) {
    const auto text = value.get<std::string>();
    fits = count_fits(count_code_points(text), "minLength", "maxLength");
    if (const auto pattern = schema.find("pattern"); pattern != schema.end() && fits && *fits) {
      const Json* forbidden = forbidden_pattern(*pattern);
      if (const Json* texts = forbidden_texts(*pattern)) return std::ranges::find(*texts, value) == texts->end();
      const Json& expression = forbidden ? *forbidden : *pattern;
      if (!expression.is_string()) return schema_error(Code::kInvalid, place_of(place, "pattern"), "should be a text");
      RIDGE_ASSIGN(const CharacterAutomaton* automaton,
                   patterns_.of(expression.get<std::string>(), place_of(place, "pattern")));
      fits = automaton->accepts(text) != (forbidden != nullptr);
    }
  } else if (value.is_array()) {
    fits = count_fits(value.size(), "minItems", "maxItems");
    if (fits && *fits) fits = holds_items(value, schema, place, depth);
  } else if (value.is_object()) {
    fits = count_fits(value.size(), "minProperties", "maxProperties");
    if (fits && *fits) fits = holds_members(value, schema, place, depth);
  }
  return fits && *fits ? holds_schemas(value, schema, place, depth) : fits;
}

Result<bool> SchemaDocument::holds_schemas(const Json& value, const Json& schema, const std::string& place, int depth) {
  const auto inner = [&](const Json& other) { return holds(value, other, place, depth + 1); };
  if (schema.contains("$ref")) {
    RIDGE_ASSIGN(const Json* target, referred(schema, place));
    RIDGE_ASSIGN(const bool valid, inner(*target));
    if (!valid) return false;
  }
  for (const char* name : {"allOf", "anyOf", "oneOf"}) {
    const auto given = schema.find(name);
    if (given == schema.end()) continue;
    size_t count = 0;
    for (const Json& other : *given) {
      RIDGE_ASSIGN(const bool valid, inner(other));
      count += valid ? 1 : 0;
    }
    if (name[1] == 'l' ? count < given->size() : name[0] == 'o' ? count != 1 : count == 0) return false;
  }
  if (schema.contains("not")) {
    RIDGE_ASSIGN(const bool valid, inner(schema["not"]));
    if (valid) return false;
  }
  if (!schema.contains("if")) return true;
  RIDGE_ASSIGN(const bool met, inner(schema["if"]));
  const char* name = met ? "then" : "else";
  return schema.contains(name) ? inner(schema[name]) : true;
}

Result<bool> SchemaDocument::holds_items(const Json& value, const Json& schema, const std::string& place, int depth) {
  const ItemWords words = words_of_items(schema);
  const auto prefix = schema.find(words.listed), items = schema.find(words.others);
  size_t contained = 0, index = 0;
  for (const Json& item : value) {
    const bool listed = prefix != schema.end() && prefix->is_array() && index < prefix->size();
    if (listed || items != schema.end()) {
      RIDGE_ASSIGN(const bool valid, holds(item, listed ? (*prefix)[index] : *items, place, depth + 1));
      if (!valid) return false;
    }
    if (schema.contains("contains")) {
      RIDGE_ASSIGN(const bool valid, holds(item, schema["contains"], place, depth + 1));
      contained += valid ? 1 : 0;
    }
    if (schema.value("uniqueItems", Json(false)) == true &&
        std::find(value.begin(), value.begin() + static_cast<std::ptrdiff_t>(index), item) !=
            value.begin() + static_cast<std::ptrdiff_t>(index))
      return false;
    ++index;
  }
  if (!schema.contains("contains")) return true;
  RIDGE_ASSIGN(const uint32_t least, count_or(schema, "minContains", 1, place));
  RIDGE_ASSIGN(const uint32_t most, count_or(schema, "maxContains", kUnbounded, place));
  return contained >= least && contained <= most;
}

Result<bool> SchemaDocument::holds_members(const Json& value, const Json& schema, const std::string& place, int depth) {
  for (const Json& name : schema.value("required", Json::array()))
    if (name.is_string() && !value.contains(name.get<std::string>())) return false;
  const Json none = Json::object();
  const auto member_or = [&](const char* name) -> const Json& {
    const auto found = schema.find(name);
    return found != schema.end() && found->is_object() ? *found : none;
  };
  const Json &properties = member_or("properties"), &by_pattern = member_or("patternProperties");
  for (const auto& [name, member] : value.items()) {
    std::vector<const Json*> schemas;
    if (const auto listed = properties.find(name); listed != properties.end()) schemas.push_back(&*listed);
    for (const auto& [pattern, other] : by_pattern.items()) {
      RIDGE_ASSIGN(const CharacterAutomaton* keys, patterns_.of(pattern, place));
      if (keys->accepts(name)) schemas.push_back(&other);
    }
    if (schemas.empty() && schema.contains("additionalProperties")) schemas.push_back(&schema["additionalProperties"]);
    for (const Json* other : schemas) {
      RIDGE_ASSIGN(const bool valid, holds(member, *other, place, depth + 1));
      if (!valid) return false;
    }
    if (!schema.contains("propertyNames")) continue;
    RIDGE_ASSIGN(const bool valid, holds(Json(name), schema["propertyNames"], place, depth + 1));
    if (!valid) return false;
  }
  for (const char* list : {"dependencies", "dependentRequired", "dependentSchemas"}) {
    for (const auto& [name, needs] : member_or(list).items()) {
      if (!value.contains(name)) continue;
      if (needs.is_array()) {
        for (const Json& other : needs)
          if (other.is_string() && !value.contains(other.get<std::string>())) return false;
        continue;
      }
      RIDGE_ASSIGN(const bool valid, holds(value, needs, place, depth + 1));
      if (!valid) return false;
    }
  }
  return true;
}

}  // namespace ridge::text
