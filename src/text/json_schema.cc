#include "text/json_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_map>
#include <utility>

#include "text/json_builder.h"
#include "text/json_keywords.h"
#include "text/json_pattern.h"
#include "text/json_range.h"

namespace ridge::text {
namespace {

// Of one object's properties and of one choice: their branches fit into kMostJsonBranches.
constexpr size_t kMostProperties = 1000, kMostAlternatives = 1000, kMostReferences = 5000, kMostPatterns = 50;
constexpr size_t kLongestName = 4096, kLongestPattern = 16'384, kMostCopied = size_t{1} << 20,
                 kLongestPlace = 65'536;  // [bytes]
constexpr size_t kMostNodes = 200'000, kMostByteStates = 1'000'000;
constexpr size_t kMostOfWords = 128 * 1024;  // [bytes] of the values of an enum or a choice; each takes up to 150

Error too_many_properties(const std::string& place) {
  return schema_error(Code::kExhausted, place, fmt::format("more than {} properties", kMostProperties));
}

int depth_of(const Json& value) {
  int deepest = 0;
  if (value.is_structured())
    for (const Json& member : value) deepest = std::max(deepest, 1 + depth_of(member));
  return deepest;
}

// One schema is one rule, compiled once; references to it call that rule. Schemas that are found on the way wait in a queue: nothing recurses.
class SchemaCompiler {
 public:
  SchemaCompiler(JsonBuilder& builder, const Json& schema) : root_(schema), builder_(builder) {}
  // The document's rule.
  Result<uint32_t> compile();

 private:
  struct Waiting {
    const Json* schema;
    size_t place;  // among places_
    uint32_t entry;
  };
  // A place is what it adds to the one that led to it: paths are long where names are.
  struct Place {
    size_t before;  // among places_
    std::string rest;
  };
  size_t keep(const std::string& place);
  std::string text_of(size_t place) const;
  static std::vector<JsonMember>::iterator member_named(const std::string& name, std::vector<JsonMember>& properties) {
    return std::find_if(properties.begin(), properties.end(),
                        [&](const JsonMember& other) { return other.name == name; });
  }
  // What the members of an object are told by: one schema, or several under allOf.
  struct ObjectParts {
    std::vector<JsonMember> properties;
    std::vector<const Json*> schemas;                      // of the properties
    std::vector<std::pair<std::string, size_t>> required;  // name, place
    const Json* additional = nullptr;
    std::string additional_place;
    bool has_properties = false;
  };
  using Targets = std::vector<uint32_t>;

  uint32_t rule_of(const Json& schema, const std::string& place);
  Result<const Json*> referred(const Json& schema, const std::string& place);
  Status compile_rule(const Waiting& rule, const std::string& place);
  Result<Targets> targets_of(const Json& schema, const std::string& place);
  Result<Targets> targets_instead(const Json& schema, const std::string& name, const std::string& place);
  Result<Targets> targets_of_values(const Json& schema, const std::string& place);
  Result<const Json*> narrowed(const Json& schema, const Json& within, const std::string& place);
  Status add_type(const Json& schema, const std::string& type, const std::string& place, Targets& targets);
  Result<uint32_t> string_node(const Json& schema, const std::string& place);
  Result<uint32_t> pattern_node(std::string_view pattern, const std::string& place);
  Status add_numbers(const Json& schema, bool whole, const std::string& place, Targets& targets);
  Result<std::optional<NumberBound>> bound(const Json& schema, const char* inclusive, const char* exclusive, bool low,
                                           const std::string& place);
  Result<uint32_t> array_node(const Json& schema, const std::string& place);
  Status gather(const Json& schema, const std::string& place, ObjectParts& parts);
  Status gather_all(const Json& schema, const std::string& place, ObjectParts& parts);
  Result<uint32_t> object_node(ObjectParts parts, const std::string& place);

  const Json& root_;
  const Json anything_ = true;
  std::deque<Json> made_;  // schemas that stand nowhere in the one that was given
  size_t made_bytes_ = 0;  // of their texts
  JsonBuilder& builder_;
  std::deque<Waiting> waiting_;
  std::vector<Place> places_{{0, ""}};
  size_t here_ = 0;        // of the rule that is being compiled
  std::string here_text_;  // its text
  std::unordered_map<const Json*, uint32_t> rules_;
  std::unordered_map<std::string, const Json*> references_;
};

Result<uint32_t> SchemaCompiler::compile() {
  const JsonProgram& program = builder_.program();
  static const Json kAnyObject = {{"type", "object"}};
  const uint32_t begin = rule_of(root_.is_object() && root_.empty() ? kAnyObject : root_, "#");
  for (; !waiting_.empty(); waiting_.pop_front()) {
    here_ = waiting_.front().place;
    here_text_ = text_of(here_);
    if (here_text_.size() > kLongestPlace)
      return schema_error(Code::kExhausted, here_text_.substr(0, kLongestName) + "…",
                          fmt::format("names of more than {} bytes lead there", kLongestPlace));
    constexpr size_t kMostOfPlace = 120;  // of its end [bytes]
    const size_t left_out = here_text_.size() - std::min(here_text_.size(), kMostOfPlace);
    builder_.program().places.emplace_back(program.nodes.size(),
                                           (left_out > 0 ? "…" : "") + here_text_.substr(left_out));
    RIDGE_TRY(compile_rule(waiting_.front(), here_text_));
    if (program.nodes.size() > kMostNodes || program.bytes.size() > kMostByteStates)
      return schema_error(Code::kExhausted, here_text_,
                          fmt::format("the schema is too large: more than {} parts", kMostNodes));
  }
  return begin;
}

Status check_length(const std::vector<std::string>& words, const std::string& place) {
  size_t bytes = 0;
  for (const std::string& word : words) bytes += word.size();
  if (bytes <= kMostOfWords) return {};
  return schema_error(Code::kExhausted, place, fmt::format("its values have more than {} bytes", kMostOfWords));
}

Status finish_program(JsonProgram& program) {
  if (finish(program, kMostAlternatives)) return {};
  return schema_error(Code::kExhausted, "#",
                      fmt::format("a choice has more than {} alternatives, or references lead to references too often",
                                  kMostAlternatives));
}

Status check_that_it_ends(const JsonProgram& program, uint32_t rule) {
  if (program.nodes[rule].height <= kMostJsonDepth) return {};
  return schema_error(Code::kInvalid, "#",
                      fmt::format("no document of at most {} levels is valid for this schema", kMostJsonDepth));
}

uint32_t SchemaCompiler::rule_of(const Json& schema, const std::string& place) {
  const auto known = rules_.find(&schema);
  if (known != rules_.end()) return known->second;
  const uint32_t entry = builder_.rule();
  rules_.emplace(&schema, entry);
  waiting_.push_back({&schema, keep(place), entry});
  return entry;
}

size_t SchemaCompiler::keep(const std::string& place) {
  if (place == here_text_) return here_;
  const bool within = place.starts_with(here_text_);
  places_.push_back({within ? here_ : 0, within ? place.substr(here_text_.size()) : place});
  return places_.size() - 1;
}

std::string SchemaCompiler::text_of(size_t place) const {
  std::vector<const std::string*> parts;
  for (; place != 0; place = places_[place].before) parts.push_back(&places_[place].rest);
  std::string text;
  for (size_t i = parts.size(); i > 0; --i) text += *parts[i - 1];
  return text;
}

// What its $ref points to. Members are looked up one by one: a schema of a megabyte has no more of them than can be looked for at once.
Result<const Json*> SchemaCompiler::referred(const Json& schema, const std::string& place) {
  const Json& reference = schema["$ref"];
  const std::string at = place_of(place, "$ref");
  const std::string text = dump_json(reference);
  if (const auto known = references_.find(text); known != references_.end()) return known->second;
  if (text.size() > kLongestName)
    return schema_error(Code::kExhausted, at, fmt::format("more than {} bytes", kLongestName));
  if (references_.size() == kMostReferences)
    return schema_error(Code::kExhausted, at, fmt::format("more than {} different references", kMostReferences));
  RIDGE_ASSIGN(const Json* target, resolve(root_, reference, at));
  references_.emplace(text, target);
  return target;
}

Status SchemaCompiler::compile_rule(const Waiting& rule, const std::string& place) {
  if (rule.schema->is_boolean() && !rule.schema->get<bool>()) return {};  // no value at all
  static const Json kUnrestricted = Json::object();
  const Json& schema = rule.schema->is_boolean() ? kUnrestricted : *rule.schema;
  RIDGE_TRY(check_keywords(schema, place));
  RIDGE_ASSIGN(Targets targets, targets_of(schema, place));
  if (const auto nullable = schema.find("nullable"); nullable != schema.end()) {
    if (!nullable->is_boolean())
      return schema_error(Code::kInvalid, place_of(place, "nullable"), "should be true or false");
    if (nullable->get<bool>()) targets.push_back(builder_.word("null"));
  }
  builder_.set_targets(rule.entry, targets);
  return {};
}

Result<SchemaCompiler::Targets> SchemaCompiler::targets_of(const Json& schema, const std::string& place) {
  for (const char* name : {"$ref", "anyOf", "oneOf", "allOf"})
    if (schema.contains(name)) return targets_instead(schema, name, place);
  if (schema.contains("enum") || schema.contains("const")) return targets_of_values(schema, place);
  Targets targets;
  RIDGE_ASSIGN(const std::vector<std::string> types, types_of(schema, place));
  for (const std::string& type : types) RIDGE_TRY(add_type(schema, type, place, targets));
  return targets;
}

Result<SchemaCompiler::Targets> SchemaCompiler::targets_instead(const Json& schema, const std::string& name,
                                                                const std::string& place) {
  const Json& value = schema[name];
  const std::string at = place_of(place, name);
  if (name == "$ref") {
    RIDGE_TRY(check_beside(schema, name, {Keyword::kNullable}, place));
    RIDGE_ASSIGN(const Json* target, referred(schema, place));
    return Targets{rule_of(*target, value.get<std::string>())};
  }
  if (!value.is_array() || value.empty())
    return schema_error(Code::kInvalid, at, "should be a list of schemas that is not empty");
  Targets targets;
  if (name != "allOf") {
    RIDGE_TRY(check_beside(schema, name, {Keyword::kNullable, Keyword::kType}, place));
    for (size_t i = 0; i < value.size(); ++i) {
      const std::string each = place_of(at, std::to_string(i));
      RIDGE_ASSIGN(const Json* alternative, narrowed(value[i], schema, each));
      targets.push_back(rule_of(*alternative, each));
    }
    return targets;
  }
  if (value.size() == 1 && check_beside(schema, name, {Keyword::kNullable}, place).ok())
    return Targets{rule_of(value[0], place_of(at, "0"))};
  RIDGE_TRY(check_beside(schema, name, {Keyword::kNullable, Keyword::kType, Keyword::kObject}, place));
  ObjectParts parts;
  RIDGE_TRY(gather_all(schema, place, parts));
  RIDGE_ASSIGN(const uint32_t object, object_node(std::move(parts), place));
  return Targets{object};
}

// An alternative of a schema that has `type` beside it: it must allow these types and no others.
Result<const Json*> SchemaCompiler::narrowed(const Json& schema, const Json& within, const std::string& place) {
  if (!within.contains("type")) return &schema;
  const Json* target = &schema;
  for (int steps = 0; target->is_object() && target->contains("$ref") && steps < 100; ++steps) {
    RIDGE_ASSIGN(target, referred(*target, place));
  }
  if (target->is_boolean())
    return schema_error(Code::kUnsupported, place,
                        "true and false are not supported where `type` stands beside the list; write the type");
  RIDGE_TRY(check_keywords(*target, place));
  const bool plain = !target->contains("anyOf") && !target->contains("oneOf") && !target->contains("allOf") &&
                     !target->contains("$ref");
  if (plain && !target->contains("type")) {
    made_bytes_ += dump_json(*target).size();
    if (made_bytes_ > kMostCopied)
      return schema_error(Code::kExhausted, place, "too many long schemas without a `type` stand beside one; write it");
    Json& with_type = made_.emplace_back(*target);
    with_type["type"] = within["type"];
    return &with_type;
  }
  if (plain) {
    RIDGE_ASSIGN(const std::vector<std::string> outer, types_of(within, place));
    RIDGE_ASSIGN(const std::vector<std::string> inner, types_of(*target, place));
    const bool fits = std::all_of(inner.begin(), inner.end(), [&](const std::string& type) {
      return std::find(outer.begin(), outer.end(), type) != outer.end() ||
             (type == "integer" && std::find(outer.begin(), outer.end(), "number") != outer.end());
    });
    if (fits) return &schema;
  }
  return schema_error(Code::kUnsupported, place, "its type is not that beside the list; leave `type` out there");
}

Result<SchemaCompiler::Targets> SchemaCompiler::targets_of_values(const Json& schema, const std::string& place) {
  const std::string name = schema.contains("enum") ? "enum" : "const";
  RIDGE_TRY(check_beside(schema, name, {Keyword::kValues, Keyword::kType, Keyword::kNullable}, place));
  const Json values = name == "enum" ? schema["enum"] : Json::array({schema["const"]});
  if (!values.is_array() || values.empty())
    return schema_error(Code::kInvalid, place_of(place, name), "should be a list of values that is not empty");
  RIDGE_ASSIGN(const std::vector<std::string> types, types_of(schema, place));
  std::vector<std::string> words;
  for (const Json& value : values) {
    if (depth_of(value) > kMostJsonDepth)
      return schema_error(Code::kInvalid, place_of(place, name),
                          fmt::format("a value has more than {} levels", kMostJsonDepth));
    const bool fits =
        std::any_of(types.begin(), types.end(), [&](const std::string& type) { return is_of_type(value, type); });
    if (fits && (!schema.contains("const") || value == schema["const"])) words.push_back(dump_json(value));
  }
  if (words.empty())
    return schema_error(Code::kInvalid, place_of(place, name),
                        "none of its values is allowed by what stands beside it");
  RIDGE_TRY(check_length(words, place_of(place, name)));
  return Targets{builder_.bytes(builder_.program().bytes.add_words(words))};
}

Status SchemaCompiler::add_type(const Json& schema, const std::string& type, const std::string& place,
                                Targets& targets) {
  if (type == "null") {
    targets.push_back(builder_.word("null"));
  } else if (type == "boolean") {
    targets.push_back(builder_.word("true"));
    targets.push_back(builder_.word("false"));
  } else if (type == "string") {
    RIDGE_ASSIGN(const uint32_t node, string_node(schema, place));
    targets.push_back(node);
  } else if (type == "array") {
    RIDGE_ASSIGN(const uint32_t node, array_node(schema, place));
    targets.push_back(node);
  } else if (type == "object") {
    ObjectParts parts;
    RIDGE_TRY(gather(schema, place, parts));
    RIDGE_ASSIGN(const uint32_t node, object_node(std::move(parts), place));
    targets.push_back(node);
  } else {
    return add_numbers(schema, type == "integer", place, targets);
  }
  return {};
}

Result<uint32_t> SchemaCompiler::string_node(const Json& schema, const std::string& place) {
  RIDGE_ASSIGN(const uint32_t least, count_or(schema, "minLength", 0, place));
  RIDGE_ASSIGN(const uint32_t most, count_or(schema, "maxLength", kUnbounded, place));
  if (least > most)
    return schema_error(Code::kInvalid, place_of(place, "minLength"), "should not be above `maxLength`");
  const bool has_length = schema.contains("minLength") || schema.contains("maxLength");
  if (const auto pattern = schema.find("pattern"); pattern != schema.end()) {
    const std::string at = place_of(place, "pattern");
    if (!pattern->is_string()) return schema_error(Code::kInvalid, at, "should be a text");
    if (has_length)
      return schema_error(Code::kUnsupported, at, "not supported beside minLength and maxLength; write them into it");
    return pattern_node(pattern->get<std::string>(), at);
  }
  const auto format = schema.find("format");
  if (!has_length && format != schema.end() && format->is_string())
    if (const std::string_view pattern = pattern_of_format(format->get<std::string>()); !pattern.empty())
      return pattern_node(pattern, place_of(place, "format"));
  return builder_.string(least, most);
}

Result<uint32_t> SchemaCompiler::pattern_node(std::string_view pattern, const std::string& place) {
  auto& patterns = builder_.patterns();
  auto known = patterns.find(pattern);
  if (known == patterns.end()) {
    if (pattern.size() > kLongestPattern)
      return schema_error(Code::kExhausted, place, fmt::format("more than {} bytes", kLongestPattern));
    if (patterns.size() == kMostPatterns)
      return schema_error(Code::kExhausted, place, fmt::format("more than {} different patterns", kMostPatterns));
    RIDGE_ASSIGN(const uint32_t state, add_pattern(builder_.program().bytes, pattern, PatternOf::kString, place));
    known = patterns.emplace(pattern, state).first;
  }
  return builder_.bytes(known->second);
}

Result<std::optional<NumberBound>> SchemaCompiler::bound(const Json& schema, const char* inclusive,
                                                         const char* exclusive, bool low, const std::string& place) {
  std::optional<NumberBound> found;
  for (const char* name : {inclusive, exclusive}) {
    const auto given = schema.find(name);
    if (given == schema.end()) continue;
    const std::optional<Decimal> value = decimal_of(*given);
    if (!value)
      return schema_error(Code::kInvalid, place_of(place, name),
                          fmt::format("should be a number of at most {} digits after its point, found {}",
                                      JsonLexer::kFractionDigits, dump_json(*given).substr(0, 80)));
    // Of both the exclusive one counts, unless the other is tighter.
    const bool tighter = !found || (low ? given->get<double>() >= schema[inclusive].get<double>()
                                        : given->get<double>() <= schema[inclusive].get<double>());
    if (tighter) found = {*value, name == inclusive};
  }
  return found;
}

Status SchemaCompiler::add_numbers(const Json& schema, bool whole, const std::string& place, Targets& targets) {
  RIDGE_ASSIGN(const std::optional<NumberBound> low, bound(schema, "minimum", "exclusiveMinimum", true, place));
  RIDGE_ASSIGN(const std::optional<NumberBound> high, bound(schema, "maximum", "exclusiveMaximum", false, place));
  if (!low && !high) {
    targets.push_back(builder_.bytes(whole ? json_lexer().integer_start : json_lexer().number_start));
    return {};
  }
  const std::vector<NumberForm> forms = add_number_range(builder_.program().bytes, low, high, !whole);
  if (forms.empty()) return schema_error(Code::kInvalid, place, "no number lies between its minimum and its maximum");
  for (const NumberForm& form : forms) targets.push_back(builder_.bytes(form.state, form.negative));
  return {};
}

Result<uint32_t> SchemaCompiler::array_node(const Json& schema, const std::string& place) {
  RIDGE_ASSIGN(const uint32_t least, count_or(schema, "minItems", 0, place));
  RIDGE_ASSIGN(const uint32_t most, count_or(schema, "maxItems", kUnbounded, place));
  if (least > most) return schema_error(Code::kInvalid, place_of(place, "minItems"), "should not be above `maxItems`");
  std::vector<uint32_t> prefix;
  const auto listed = schema.find("prefixItems");
  if (listed != schema.end()) {
    const std::string at = place_of(place, "prefixItems");
    if (!listed->is_array() || listed->empty())
      return schema_error(Code::kInvalid, at, "should be a list of schemas that is not empty");
    for (size_t i = 0; i < listed->size(); ++i)
      prefix.push_back(rule_of((*listed)[i], place_of(at, std::to_string(i))));
  }
  std::optional<uint32_t> items;
  if (const auto given = schema.find("items"); given != schema.end()) {
    if (given->is_array())
      return schema_error(Code::kUnsupported, place_of(place, "items"),
                          "a list is not supported here; name it `prefixItems`");
    items = rule_of(*given, place_of(place, "items"));
  } else if (prefix.empty()) {
    items = rule_of(anything_, place);
  }
  if (!items && least > prefix.size())
    return schema_error(Code::kInvalid, place_of(place, "minItems"),
                        "more items than `prefixItems` has; say by `items` what the others are");
  return builder_.array(least, most, prefix, items);
}

Status SchemaCompiler::gather(const Json& schema, const std::string& place, ObjectParts& parts) {
  if (const auto properties = schema.find("properties"); properties != schema.end()) {
    const std::string at = place_of(place, "properties");
    if (!properties->is_object()) return schema_error(Code::kInvalid, at, "should be an object of schemas");
    if (properties->size() > kMostProperties) return too_many_properties(at);
    parts.has_properties = true;
    for (const auto& [name, property] : properties->items()) {
      if (name.size() > kLongestName)
        return schema_error(Code::kExhausted, at, fmt::format("a name of more than {} bytes", kLongestName));
      const auto same = member_named(name, parts.properties);
      if (same == parts.properties.end()) {
        parts.properties.push_back({name, rule_of(property, place_of(at, name))});
        parts.schemas.push_back(&property);
      } else if (*parts.schemas[same - parts.properties.begin()] != property) {
        return schema_error(Code::kUnsupported, place_of(at, name),
                            "not supported: another schema under `allOf` has this property in another form");
      }
    }
  }
  if (const auto required = schema.find("required"); required != schema.end()) {
    const std::string at = place_of(place, "required");
    if (!required->is_array()) return schema_error(Code::kInvalid, at, "should be a list of names");
    if (required->size() > kMostProperties) return too_many_properties(at);
    const size_t kept = keep(at);
    for (const Json& name : *required) {
      if (!name.is_string()) return schema_error(Code::kInvalid, at, "should be a list of names");
      parts.required.emplace_back(name.get<std::string>(), kept);
    }
  }
  if (const auto additional = schema.find("additionalProperties"); additional != schema.end()) {
    parts.additional = &*additional;
    parts.additional_place = place_of(place, "additionalProperties");
  }
  return {};
}

// allOf of objects whose properties do not meet: one object that has them all.
Status SchemaCompiler::gather_all(const Json& schema, const std::string& place, ObjectParts& parts) {
  std::deque<std::pair<const Json*, size_t>> open{{&schema, keep(place)}};
  for (size_t schemas = 0; !open.empty(); ++schemas) {
    const auto [part, kept] = open.front();
    const std::string at = text_of(kept);
    open.pop_front();
    if (schemas + open.size() >= kMostProperties)
      return schema_error(Code::kExhausted, at, fmt::format("more than {} schemas under `allOf`", kMostProperties));
    RIDGE_TRY(check_keywords(*part, at));
    if (part->contains("$ref")) {
      RIDGE_TRY(check_beside(*part, "$ref", {}, at));
      RIDGE_ASSIGN(const Json* target, referred(*part, at));
      open.emplace_front(target, keep((*part)["$ref"].get<std::string>()));
      continue;
    }
    std::vector<Keyword> allowed{Keyword::kType, Keyword::kObject};
    if (part == &schema) allowed.push_back(Keyword::kNullable);
    RIDGE_TRY(check_beside(*part, "allOf", allowed, at));
    if (part->contains("type") && (*part)["type"] != "object")
      return schema_error(Code::kUnsupported, place_of(at, "type"), "only objects are supported under `allOf`");
    if (part->contains("additionalProperties") && (*part)["additionalProperties"] != true)
      return schema_error(Code::kUnsupported, place_of(at, "additionalProperties"),
                          "not supported under `allOf`: it would forbid what the others have");
    RIDGE_TRY(gather(*part, at, parts));
    if (!part->contains("allOf")) continue;
    const Json& list = (*part)["allOf"];
    if (!list.is_array()) return schema_error(Code::kInvalid, place_of(at, "allOf"), "should be a list of schemas");
    for (size_t i = std::min(list.size(), kMostProperties); i > 0; --i) {
      places_.push_back({kept, "/allOf/" + std::to_string(i - 1)});
      open.emplace_front(&list[i - 1], places_.size() - 1);
    }
  }
  return {};
}

Result<uint32_t> SchemaCompiler::object_node(ObjectParts parts, const std::string& place) {
  // Without additionalProperties no other members, as vLLM's guides have it, unless no property is listed.
  std::optional<uint32_t> additional;
  if (parts.additional) {
    if (*parts.additional != false) additional = rule_of(*parts.additional, parts.additional_place);
  } else if (!parts.has_properties) {
    additional = rule_of(anything_, place);
  }
  for (const auto& [name, at] : parts.required) {
    const auto property = member_named(name, parts.properties);
    if (property != parts.properties.end()) {
      property->required = true;
    } else if (additional) {
      parts.properties.push_back({name, *additional, true});
    } else {
      return schema_error(Code::kInvalid, text_of(at), fmt::format("`properties` has no {}", dump_json(Json(name))));
    }
  }
  if (parts.properties.size() > kMostProperties) return too_many_properties(place);
  return builder_.object(parts.properties, additional);
}

}  // namespace

Result<JsonProgram> compile_schema(const Json& schema) {
  JsonBuilder builder;
  JsonProgram& program = builder.program();
  RIDGE_ASSIGN(program.begin, SchemaCompiler(builder, schema).compile());
  RIDGE_TRY(finish_program(program));
  RIDGE_TRY(check_that_it_ends(program, program.begin));
  program.source = dump_json(schema);
  return std::move(program);
}

Result<JsonProgram> compile_expression(std::string_view expression) {
  JsonBuilder builder;
  JsonProgram& program = builder.program();
  if (expression.size() > kLongestPattern)
    return Error{Code::kExhausted, fmt::format("the regular expression has more than {} bytes", kLongestPattern)};
  RIDGE_ASSIGN(const uint32_t state, add_pattern(program.bytes, expression, PatternOf::kText, "regular expression"));
  program.begin = builder.bytes(state);
  RIDGE_TRY(finish_program(program));
  program.source = fmt::format("expression {}", expression);
  return std::move(program);
}

Result<JsonProgram> compile_choice(const std::vector<std::string>& texts) {
  JsonBuilder builder;
  JsonProgram& program = builder.program();
  RIDGE_TRY(check_length(texts, "#"));
  program.begin = builder.bytes(program.bytes.add_words(texts));
  RIDGE_TRY(finish_program(program));
  program.source = "choice " + dump_json(Json(texts));
  return std::move(program);
}

Result<JsonProgram> compile_texts(std::span<const JsonInText> texts, bool several) {
  JsonBuilder builder;
  JsonProgram& program = builder.program();
  program.begin = builder.rule();
  const std::optional<uint32_t> again = several ? std::optional(program.begin) : std::nullopt;
  std::vector<uint32_t> targets, rules;
  program.source = several ? "several " : "one ";
  for (const JsonInText& text : texts) {
    Result<uint32_t> rule = SchemaCompiler(builder, *text.schema).compile();
    if (!rule) return wrap(std::move(rule).error(), text.name);
    rules.push_back(*rule);
    targets.push_back(builder.in_text(text, *rule, again));
    for (const std::string& part : {text.begin, text.before, dump_json(*text.schema), text.after, text.end})
      program.source += fmt::format("{} {}", part.size(), part);
  }
  builder.set_targets(program.begin, targets);
  RIDGE_TRY(finish_program(program));
  for (size_t i = 0; i < texts.size(); ++i)
    if (Status ends = check_that_it_ends(program, rules[i]); !ends) return wrap(std::move(ends).error(), texts[i].name);
  RIDGE_TRY(check_that_it_ends(program, program.begin));
  return std::move(program);
}

}  // namespace ridge::text
