// Objects: members that are listed, needed, named by a pattern, or others.
#include <algorithm>
#include <unordered_set>

#include "text/json_keywords.h"
#include "text/json_schema_compiler.h"

namespace ridge::text {
namespace {

Error too_many_properties(const std::string& place) {
  return schema_error(Code::kExhausted, place, fmt::format("more than {} properties", kMostProperties));
}

}  // namespace

Status SchemaCompiler::read_object(const Schemas& schemas, Object& object) {
  const auto add = [&](const std::string& name) -> JsonMember& {
    const auto [number, added] = object.numbers.emplace(name, object.members.size());
    if (added) object.members.push_back({name});
    return object.members[number->second];
  };
  bool open = false;
  for (const Json* schema : schemas) {
    if (!schema->is_object()) continue;
    Object::Part& part = object.parts.emplace_back();
    part.schema = schema;
    if (const auto properties = schema->find("properties"); properties != schema->end()) {
      const std::string place = place_at(schema, "properties");
      if (!properties->is_object()) return schema_error(Code::kInvalid, place, "should be an object of schemas");
      if (properties->size() > kMostProperties) return too_many_properties(place);
      part.properties = &*properties;
      object.closed = object.closed || properties->empty();
      for (const auto& [name, property] : properties->items()) {
        if (name.size() > kLongestName)
          return schema_error(Code::kExhausted, place, fmt::format("a name of more than {} bytes", kLongestName));
        add(name);
        object.closed = object.closed || !forbids_all(property);
      }
    }
    if (const auto patterns = schema->find("patternProperties"); patterns != schema->end()) {
      const std::string place = place_at(schema, "patternProperties");
      if (!patterns->is_object()) return schema_error(Code::kInvalid, place, "should be an object of schemas");
      for (const auto& [pattern, property] : patterns->items()) {
        const std::string at = place_of(place, pattern);
        RIDGE_ASSIGN(const CharacterAutomaton* names, patterns_.of(pattern, at));
        part.by_pattern.emplace_back(names, Located{&property, at});
      }
    }
    if (const auto additional = schema->find("additionalProperties"); additional != schema->end()) {
      part.additional = &*additional;
      open = true;
    }
    if (const auto names = schema->find("propertyNames"); names != schema->end()) {
      const std::string place = place_at(schema, "propertyNames");
      RIDGE_ASSIGN(const CharacterAutomaton allowed, names_of(*names, place));
      RIDGE_ASSIGN(object.names, patterns_.both(object.names.value_or(CharacterAutomaton::of_lengths(0, kUnbounded)),
                                                allowed, place));
    }
  }
  if (open) object.closed = false;
  for (const Json* schema : schemas) {
    const auto required = schema->is_object() ? schema->find("required") : schema->end();
    if (required == schema->end()) continue;
    const std::string place = place_at(schema, "required");
    if (!required->is_array()) return schema_error(Code::kInvalid, place, "should be a list of names");
    if (required->size() > kMostProperties) return too_many_properties(place);
    for (const Json& name : *required) {
      if (!name.is_string()) return schema_error(Code::kInvalid, place, "should be a list of names");
      add(name.get<std::string>()).required = true;
      object.needed_by.emplace(name.get<std::string>(), schema);
    }
  }
  return object.members.size() > kMostProperties ? Status(too_many_properties(here_text_)) : Status();
}

// Names that a value is allowed by.
Result<CharacterAutomaton> SchemaCompiler::names_of(const Json& schema, const std::string& place) {
  RIDGE_ASSIGN(const auto schemas, join({{&schema, place}}, {}));
  if (!schemas) return CharacterAutomaton();
  std::vector<std::string> values;
  for (const Json* each : *schemas) {
    if (each->is_array())
      return schema_error(Code::kUnsupported, place, "only `pattern`, lengths, `enum` and `const` are supported in it");
    if (word_of_values(*each) == nullptr) continue;
    for (const Json& value : listed_values(*each)) {
      RIDGE_ASSIGN(const bool valid, document_.holds(value, schema, place));
      if (valid && value.is_string()) values.push_back(value.get<std::string>());
    }
    RIDGE_TRY(check_length(values, place));
    return CharacterAutomaton::of_texts(values);
  }
  RIDGE_ASSIGN(const auto lengths, counts(*schemas, "minLength", "maxLength"));
  if (lengths.first > lengths.second) return CharacterAutomaton();
  RIDGE_ASSIGN(const auto texts, texts_of(*schemas, lengths));
  return texts ? *texts : CharacterAutomaton::of_lengths(lengths.first, lengths.second);
}

Result<std::vector<SchemaCompiler::Located>> SchemaCompiler::schemas_of_member(const Object& object,
                                                                               const std::string& name) {
  std::vector<Located> found;
  for (const Object::Part& part : object.parts) {
    const size_t before = found.size();
    if (part.properties)
      if (const auto property = part.properties->find(name); property != part.properties->end())
        found.push_back({&*property, place_of(place_at(part.schema, "properties"), name)});
    for (const auto& [names, schema] : part.by_pattern)
      if (names->accepts(name)) found.push_back(schema);
    if (found.size() == before && part.additional)
      found.push_back({part.additional, place_at(part.schema, "additionalProperties")});
  }
  return found;
}

Status SchemaCompiler::add_object(const Schemas& schemas, Targets& targets) {
  Object object;
  RIDGE_TRY(read_object(schemas, object));
  RIDGE_ASSIGN(const auto counts, this->counts(schemas, "minProperties", "maxProperties"));
  if (counts.first > counts.second) return {};
  std::vector<JsonMember> members;
  for (JsonMember& member : object.members) {
    RIDGE_ASSIGN(const std::vector<Located> found, schemas_of_member(object, member.name));
    const bool forbidden = (object.names && !object.names->accepts(member.name)) ||
                           std::ranges::any_of(found, [](const Located& at) { return forbids_all(*at.schema); });
    if (forbidden && member.required) {
      none(place_at(object.needed_by.at(member.name), "required"),
           fmt::format("{} is not allowed beside it", dump_json(Json(member.name))));
      return {};
    }
    if (forbidden) continue;
    RIDGE_ASSIGN(member.rule, rule_of(found));
    members.push_back(member);
  }
  RIDGE_ASSIGN(std::vector<JsonOthers> others, others_of(object));
  // Two members that are not listed may have one name, and a reader takes them for one.
  const auto required = static_cast<uint32_t>(std::ranges::count_if(members, &JsonMember::required));
  if (!others.empty() && counts.first > required + 1) {
    if (members.size() < counts.first)
      return schema_error(Code::kUnsupported, place_at(schemas.back(), "minProperties"),
                          "above 1 is supported for members that are listed in `properties` only");
    others.clear();
  }
  targets.push_back(builder_.object(members, others, counts.first, counts.second));
  return {};
}

// Members that are not listed, by which patterns their names match.
Result<std::vector<JsonOthers>> SchemaCompiler::others_of(const Object& object) {
  struct Names {
    CharacterAutomaton names;
    std::vector<Located> schemas;
    std::vector<const Object::Part*> matched;
  };
  std::vector<JsonOthers> others;
  const bool by_pattern = std::ranges::any_of(object.parts, [](const auto& part) { return !part.by_pattern.empty(); });
  if (object.closed && !by_pattern) return others;
  std::vector<std::string> listed;
  for (const JsonMember& member : object.members) listed.push_back(member.name);
  RIDGE_TRY(check_length(listed, here_text_));
  CharacterAutomaton any = object.names ? *object.names : CharacterAutomaton::of_lengths(0, kUnbounded);
  RIDGE_ASSIGN(any, patterns_.without(any, CharacterAutomaton::of_texts(listed), here_text_));
  std::vector<Names> all;
  all.push_back({std::move(any), {}, {}});
  for (const Object::Part& part : object.parts) {
    for (const auto& [pattern, schema] : part.by_pattern) {
      std::vector<Names> split;
      for (Names& names : all) {
        RIDGE_ASSIGN(CharacterAutomaton matching, patterns_.both(names.names, *pattern, schema.place));
        RIDGE_ASSIGN(CharacterAutomaton rest, patterns_.without(names.names, *pattern, schema.place));
        if (!matching.empty()) {
          split.push_back({std::move(matching), names.schemas, names.matched});
          split.back().schemas.push_back(schema);
          split.back().matched.push_back(&part);
        }
        if (!rest.empty()) split.push_back({std::move(rest), std::move(names.schemas), std::move(names.matched)});
      }
      all = std::move(split);
      if (all.size() > kMostKeys)
        return schema_error(Code::kExhausted, schema.place, "too many patterns of names that may match the same name");
    }
  }
  for (Names& names : all) {
    if (names.names.empty() || (object.closed && names.matched.empty())) continue;
    for (const Object::Part& part : object.parts)
      if (part.additional && std::ranges::find(names.matched, &part) == names.matched.end())
        names.schemas.push_back({part.additional, place_at(part.schema, "additionalProperties")});
    if (std::ranges::any_of(names.schemas, [](const Located& at) { return forbids_all(*at.schema); })) continue;
    JsonOthers& other = others.emplace_back();
    RIDGE_ASSIGN(other.keys, table_of(names.names));
    RIDGE_ASSIGN(other.rule, rule_of(names.schemas));
  }
  return others;
}

}  // namespace ridge::text
