// Types, and the words that they read: values, strings, numbers and arrays.
#include <algorithm>
#include <unordered_set>

#include "text/json_keywords.h"
#include "text/json_schema_compiler.h"

namespace ridge::text {
namespace {

int depth_of(const Json& value) {
  int deepest = 0;
  if (value.is_structured())
    for (const Json& member : value) deepest = std::max(deepest, 1 + depth_of(member));
  return deepest;
}

}  // namespace

Status SchemaCompiler::compile_rule(const Waiting& rule) {
  const Schemas& schemas = rule.schemas;
  Targets targets;
  const auto with_values =
      std::ranges::find_if(schemas, [](const Json* schema) { return word_of_values(*schema) != nullptr; });
  const auto list = std::ranges::find_if(schemas, [](const Json* schema) { return schema->is_array(); });
  if (with_values != schemas.end()) {
    RIDGE_TRY(add_values(schemas, **with_values, targets));
  } else if (list != schemas.end()) {
    RIDGE_TRY(add_alternatives(schemas, **list, targets));
  } else {
    for (const Json* schema : schemas)
      for (const auto& [word, value] : schema->items()) {
        auto about = keyword_of(word, text_of(standing_.at(schema)));
        if (!about) return std::move(about).error();
      }
    RIDGE_ASSIGN(const std::vector<std::string> types, types_of_all(schemas, true));
    if (types.empty() && !schemas.empty())
      none(place_at(schemas.back(), "type"), "what stands beside it allows none of its types");
    for (const std::string& type : types) RIDGE_TRY(add_type(schemas, type, targets));
  }
  builder_.set_targets(rule.entry, targets);
  return {};
}

Status SchemaCompiler::add_alternatives(const Schemas& schemas, const Json& list, Targets& targets) {
  const std::string place = text_of(standing_.at(&list));
  Schemas rest = schemas;
  std::erase(rest, &list);
  for (size_t i = 0; i < list.size(); ++i) {
    RIDGE_ASSIGN(const uint32_t rule, rule_of({{&list[i], place_of(place, std::to_string(i))}}, rest));
    targets.push_back(rule);
  }
  return {};
}

Status SchemaCompiler::add_values(const Schemas& schemas, const Json& with_values, Targets& targets) {
  const std::string place = place_at(&with_values, word_of_values(with_values));
  const bool is_enum = with_values.contains("enum");
  const Json values = listed_values(with_values);
  if (!values.is_array() || values.empty())
    return schema_error(Code::kInvalid, place, "should be a list of values that is not empty");
  std::vector<std::string> words;
  for (const Json& value : values) {
    if (depth_of(value) > kMostJsonDepth)
      return schema_error(Code::kInvalid, place, fmt::format("a value has more than {} levels", kMostJsonDepth));
    bool fits = true;
    for (size_t i = 0; i < schemas.size() && fits; ++i) {
      RIDGE_ASSIGN(fits, holds(value, *schemas[i], schemas[i] == &with_values && is_enum));
    }
    if (fits) words.push_back(dump_json(value));
  }
  RIDGE_TRY(check_length(words, place));
  if (words.empty())
    none(place, "none of its values is allowed by what stands beside it");
  else
    targets.push_back(builder_.bytes(builder_.program().bytes.add_words(words)));
  return {};
}

Result<bool> SchemaCompiler::holds(const Json& value, const Json& schema, bool listed) {
  const std::string place = text_of(standing_.at(&schema));
  if (schema.is_object()) return document_.holds(value, schema, place, 0, listed);
  if (const Json* forbidden = document_.forbidden_by(&schema)) {
    RIDGE_ASSIGN(const bool valid, document_.holds(value, *forbidden, place));
    return !valid;
  }
  for (const Json& alternative : schema) {
    RIDGE_ASSIGN(const bool valid, document_.holds(value, alternative, place));
    if (valid) return true;
  }
  return false;
}

Result<std::vector<std::string>> SchemaCompiler::types_of_all(const Schemas& schemas, bool guessed) {
  std::vector<std::string> left = {"object", "array", "string", "number", "boolean", "null"};
  std::unordered_set<std::string> about;
  bool typed = false;
  for (const Json* schema : schemas) {
    if (!schema->is_object()) continue;
    const std::string place = text_of(standing_.at(schema));
    for (const auto& [word, value] : schema->items())
      if (const auto keyword = keyword_of(word, place); keyword)
        if (const char* type = type_about(*keyword)) about.insert(type);
    if (!schema->contains("type")) continue;
    typed = true;
    RIDGE_ASSIGN(const std::vector<std::string> types, types_of(*schema, place));
    const auto allows = [&](const std::string& type) { return std::ranges::find(types, type) != types.end(); };
    std::vector<std::string> both;
    for (const std::string& type : left) {
      if (allows(type) || (type == "integer" && allows("number")))
        both.push_back(type);
      else if (type == "number" && allows("integer"))
        both.emplace_back("integer");
    }
    left = std::move(both);
  }
  if (!typed && guessed && !about.empty())
    std::erase_if(left, [&](const std::string& type) { return !about.contains(type); });
  return left;
}

Status SchemaCompiler::add_type(const Schemas& schemas, const std::string& type, Targets& targets) {
  if (type == "null") {
    targets.push_back(builder_.word("null"));
  } else if (type == "boolean") {
    targets.push_back(builder_.word("true"));
    targets.push_back(builder_.word("false"));
  } else if (type == "string") {
    return add_string(schemas, targets);
  } else if (type == "array") {
    return add_array(schemas, targets);
  } else if (type == "object") {
    return add_object(schemas, targets);
  } else {
    return add_numbers(schemas, type == "integer", targets);
  }
  return {};
}

Result<std::pair<uint32_t, uint32_t>> SchemaCompiler::counts(const Schemas& schemas, const char* least,
                                                             const char* most) {
  std::pair<uint32_t, uint32_t> found(0, kUnbounded);
  const Json* with_least = nullptr;
  for (const Json* schema : schemas) {
    if (!schema->is_object()) continue;
    const std::string place = text_of(standing_.at(schema));
    RIDGE_ASSIGN(const uint32_t from, count_or(*schema, least, 0, place));
    RIDGE_ASSIGN(const uint32_t to, count_or(*schema, most, kUnbounded, place));
    if (from > found.first) with_least = schema;
    found = {std::max(found.first, from), std::min(found.second, to)};
  }
  if (found.first > found.second) none(place_at(with_least, least), fmt::format("should not be above `{}`", most));
  return found;
}

// Empty: any of these lengths.
Result<std::optional<CharacterAutomaton>> SchemaCompiler::texts_of(const Schemas& schemas,
                                                                   std::pair<uint32_t, uint32_t> lengths) {
  std::optional<CharacterAutomaton> texts;
  const auto narrow = [&](const CharacterAutomaton& other, bool allowed, const std::string& place) -> Status {
    if (!texts && allowed) {
      texts = other;
      return {};
    }
    const CharacterAutomaton from = texts ? *std::move(texts) : CharacterAutomaton::of_lengths(0, kUnbounded);
    RIDGE_ASSIGN(texts, allowed ? patterns_.both(from, other, place) : patterns_.without(from, other, place));
    return {};
  };
  for (const Json* schema : schemas) {
    const auto pattern = schema->is_object() ? schema->find("pattern") : schema->end();
    if (pattern == schema->end()) continue;
    const std::string place = place_at(schema, "pattern");
    if (const Json* listed = SchemaDocument::forbidden_texts(*pattern)) {
      const auto words = listed->get<std::vector<std::string>>();
      RIDGE_TRY(check_length(words, place));
      RIDGE_TRY(narrow(CharacterAutomaton::of_texts(words), false, place));
      continue;
    }
    const Json* forbidden = SchemaDocument::forbidden_pattern(*pattern);
    const Json& expression = forbidden ? *forbidden : *pattern;
    if (!expression.is_string()) return schema_error(Code::kInvalid, place, "should be a text");
    RIDGE_ASSIGN(const CharacterAutomaton* automaton, patterns_.of(expression.get<std::string>(), place));
    RIDGE_TRY(narrow(*automaton, forbidden == nullptr, place));
  }
  for (const Json* schema : schemas) {
    const auto format = schema->is_object() ? schema->find("format") : schema->end();
    if (format == schema->end() || !format->is_string()) continue;
    const std::string_view expression = pattern_of_format(format->get<std::string>());
    if (expression.empty()) continue;
    RIDGE_ASSIGN(const CharacterAutomaton* automaton, patterns_.of(expression, place_at(schema, "format")));
    RIDGE_TRY(narrow(*automaton, true, place_at(schema, "format")));
  }
  if (!texts || lengths == std::pair(0U, kUnbounded)) return texts;
  if (std::max(lengths.first, lengths.second == kUnbounded ? 0 : lengths.second) > CharacterAutomaton::kMostStates)
    return schema_error(Code::kExhausted, here_text_,
                        fmt::format("lengths above {} are not kept beside `pattern`", CharacterAutomaton::kMostStates));
  RIDGE_TRY(narrow(CharacterAutomaton::of_lengths(lengths.first, lengths.second), true, here_text_));
  return texts;
}

Status SchemaCompiler::add_string(const Schemas& schemas, Targets& targets) {
  RIDGE_ASSIGN(const auto lengths, counts(schemas, "minLength", "maxLength"));
  if (lengths.first > lengths.second) return {};
  std::string source = fmt::format("{} {}", lengths.first, lengths.second);
  for (const Json* schema : schemas)
    for (const char* word : {"pattern", "format"})
      if (schema->contains(word)) source += word + dump_json((*schema)[word]);
  const auto known = tables_.find(source);
  std::optional<uint32_t> table;
  if (known != tables_.end()) {
    table = known->second;
  } else {
    RIDGE_ASSIGN(const auto texts, texts_of(schemas, lengths));
    if (texts && texts->empty()) {
      const auto with_pattern =
          std::ranges::find_if(schemas, [](const Json* each) { return each->contains("pattern"); });
      none(with_pattern == schemas.end() ? here_text_ : place_at(*with_pattern, "pattern"), "no string matches it");
      return {};
    }
    if (texts) {
      RIDGE_ASSIGN(table, table_of(*texts));
      tables_.emplace(source, *table);
    }
  }
  targets.push_back(table ? builder_.characters(*table) : builder_.string(lengths.first, lengths.second));
  return {};
}

Result<uint32_t> SchemaCompiler::table_of(const CharacterAutomaton& automaton) {
  if (const auto begin = builder_.program().characters.add(automaton)) return *begin;
  return schema_error(Code::kExhausted, here_text_,
                      fmt::format("patterns and names need more than {} states", CharacterTable::kMostStates));
}

Result<std::optional<NumberBound>> SchemaCompiler::bound(const Schemas& schemas, bool low) {
  const char *inclusive = low ? "minimum" : "maximum", *exclusive = low ? "exclusiveMinimum" : "exclusiveMaximum";
  std::optional<NumberBound> found;
  for (const Json* schema : schemas) {
    for (const char* name : {inclusive, exclusive}) {
      const auto given = schema->is_object() ? schema->find(name) : schema->end();
      if (given == schema->end() || (name == exclusive && given->is_boolean())) continue;
      const std::optional<Decimal> value = decimal_of(*given);
      if (!value)
        return schema_error(Code::kInvalid, place_at(schema, name),
                            fmt::format("should be a number of at most {} digits after its point, found {}",
                                        JsonLexer::kFractionDigits, dump_json(*given).substr(0, 80)));
      // In draft 4 the exclusive one is true or false.
      const NumberBound bound{*value, name == inclusive && schema->value(exclusive, Json()) != true};
      const bool tighter = !found || (low ? is_less(found->value, *value) : is_less(*value, found->value));
      const bool looser = found && (low ? is_less(*value, found->value) : is_less(found->value, *value));
      if (tighter || (!looser && !bound.inclusive)) found = bound;
    }
  }
  return found;
}

Status SchemaCompiler::add_numbers(const Schemas& schemas, bool whole, Targets& targets) {
  RIDGE_ASSIGN(const std::optional<NumberBound> low, bound(schemas, true));
  RIDGE_ASSIGN(const std::optional<NumberBound> high, bound(schemas, false));
  std::optional<Decimal> step;
  for (const Json* schema : schemas) {
    const auto given = schema->find("multipleOf");
    if (given == schema->end()) continue;
    const std::optional<Decimal> one = decimal_of(*given);
    const std::string place = place_at(schema, "multipleOf");
    if (!one || one->negative || one->is_zero())
      return schema_error(Code::kInvalid, place, "should be a number above 0");
    step = common_multiple(step.value_or(whole ? Decimal{.whole = "1", .fraction = ""} : *one), *one);
    if (!step)
      return schema_error(Code::kUnsupported, place,
                          "is too large, or has too many digits, with what stands beside it");
  }
  if (!low && !high && !step) {
    targets.push_back(builder_.bytes(whole ? json_lexer().integer_start : json_lexer().number_start));
    return {};
  }
  const std::vector<NumberForm> forms = add_number_range(builder_.program().bytes, low, high, !whole, step);
  if (forms.empty()) none(here_text_, "no number lies between its minimum and its maximum");
  for (const NumberForm& form : forms) targets.push_back(builder_.bytes(form.state, form.negative));
  return {};
}

Status SchemaCompiler::add_array(const Schemas& schemas, Targets& targets) {
  RIDGE_ASSIGN(auto lengths, counts(schemas, "minItems", "maxItems"));
  if (lengths.first > lengths.second) return {};
  struct Part {
    const Json* schema;
    ItemWords words;
    const Json *prefix = nullptr, *rest = nullptr;
  };
  std::vector<Part> parts;
  size_t listed = 0;
  for (const Json* schema : schemas) {
    Part part{.schema = schema, .words = words_of_items(*schema)};
    if (schema->contains(part.words.listed)) part.prefix = &(*schema)[part.words.listed];
    if (schema->contains(part.words.others)) part.rest = &(*schema)[part.words.others];
    if (part.prefix && (!part.prefix->is_array() || (part.prefix->empty() && !part.words.old)))
      return schema_error(Code::kInvalid, place_at(schema, part.words.listed),
                          "should be a list of schemas that is not empty");
    if (part.prefix) listed = std::max(listed, part.prefix->size());
    if (schema->value("uniqueItems", Json(false)) == true && lengths.second > 1)
      return schema_error(
          Code::kUnsupported, place_at(schema, "uniqueItems"),
          "is supported for arrays of at most one item only; leave it out and say in `description` what it asks for");
    parts.push_back(part);
  }
  const auto schemas_at = [&](size_t index) {
    std::vector<Located> found;
    for (const Part& part : parts) {
      if (part.prefix && index < part.prefix->size())
        found.push_back(
            {&(*part.prefix)[index], place_of(place_at(part.schema, part.words.listed), std::to_string(index))});
      else if (part.rest)
        found.push_back({part.rest, place_at(part.schema, part.words.others)});
    }
    return found;
  };
  if (listed > kMostProperties)
    return schema_error(Code::kExhausted, here_text_, fmt::format("more than {} items are listed", kMostProperties));
  std::vector<uint32_t> prefix;
  for (size_t i = 0; i < listed; ++i) {
    RIDGE_ASSIGN(const uint32_t rule, rule_of(schemas_at(i)));
    prefix.push_back(rule);
  }
  // Without a word about those that are not listed there are none, as members.
  std::optional<uint32_t> items;
  const std::vector<Located> rest = schemas_at(listed);
  const bool forbidden = std::ranges::any_of(rest, [](const Located& at) { return forbids_all(*at.schema); });
  if (!forbidden && (listed == 0 || !rest.empty())) {
    RIDGE_ASSIGN(items, rule_of(rest));
  }
  if (!items && lengths.first > listed)
    none(place_at(parts[0].schema, "minItems"), "more items than are listed; say by `items` what the others are");
  else
    targets.push_back(builder_.array(lengths.first, lengths.second, prefix, items));
  return {};
}

}  // namespace ridge::text
