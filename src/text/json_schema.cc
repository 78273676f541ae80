#include "text/json_schema.h"

#include <algorithm>
#include <unordered_set>

#include "text/json_keywords.h"
#include "text/json_schema_compiler.h"

namespace ridge::text {
namespace {

const Json kNothing = false;

Status finish_program(JsonProgram& program) {
  if (finish(program, kMostAlternatives)) return {};
  return schema_error(Code::kExhausted, "#",
                      fmt::format("a choice has more than {} alternatives, or references lead to references too often",
                                  kMostAlternatives));
}

}  // namespace

Result<uint32_t> SchemaCompiler::compile() {
  const JsonProgram& program = builder_.program();
  static const Json kAnyObject = {{"type", "object"}};
  const Json& root = document_.root();
  RIDGE_ASSIGN(const uint32_t begin, rule_of(root.is_object() && root.empty() ? kAnyObject : root, "#"));
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
    RIDGE_TRY(compile_rule(waiting_.front()));
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
  return schema_error(Code::kExhausted, place, fmt::format("its texts have more than {} bytes", kMostOfWords));
}

Status SchemaCompiler::check_that_it_ends(uint32_t rule) const {
  if (builder_.program().nodes[rule].height <= kMostJsonDepth) return {};
  if (nothing_) return *nothing_;
  return schema_error(Code::kInvalid, "#",
                      fmt::format("no document of at most {} levels is valid for this schema", kMostJsonDepth));
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

Result<uint32_t> SchemaCompiler::rule_of(const std::vector<Located>& schemas, Schemas joined) {
  const bool one = schemas.size() == 1 && joined.empty();
  if (one)
    if (const auto known = rules_of_one_.find(schemas[0].schema); known != rules_of_one_.end()) return known->second;
  RIDGE_ASSIGN(std::optional<Schemas> all, join(schemas, std::move(joined)));
  if (!all) return builder_.rule();  // of no value
  Schemas sorted = *all;
  std::ranges::sort(sorted);
  const auto [known, added] = rules_.emplace(std::move(sorted), 0);
  if (added) {
    known->second = builder_.rule();
    waiting_.push_back({*std::move(all), keep(schemas.empty() ? here_text_ : schemas[0].place), known->second});
  }
  if (one) rules_of_one_.emplace(schemas[0].schema, known->second);
  return known->second;
}

// Joins the schemas, each once; empty: no value is valid.
Result<std::optional<SchemaCompiler::Schemas>> SchemaCompiler::join(const std::vector<Located>& schemas, Schemas all,
                                                                    bool roughly) {
  enum : uint8_t { kNew, kEntered, kLeft };
  struct Open {
    Located at;
    bool leave = false;
  };
  std::unordered_set<const Json*> there(all.begin(), all.end());
  joined_ += all.size();
  std::unordered_map<const Json*, uint8_t> seen;
  std::vector<Open> open;
  for (size_t i = schemas.size(); i > 0; --i) open.push_back({schemas[i - 1]});
  while (!open.empty()) {
    Open next = std::move(open.back());
    open.pop_back();
    const Json* schema = next.at.schema;
    if (next.leave) {
      seen[schema] = kLeft;
      continue;
    }
    bool no_null = false;
    if (const auto* link = schema->is_object() ? document_.link_of(*schema) : nullptr; link) {
      if (const auto known = standing_.find(link->schema); known != standing_.end())
        next.at.place = text_of(known->second);
      schema = link->schema;
      no_null = link->no_null;
    }
    if (++joined_ > kMostJoined || all.size() > kMostProperties || seen.size() > 3 * kMostProperties)
      return schema_error(
          Code::kExhausted, next.at.place,
          fmt::format("more than {} schemas have to hold together, or {} in all", kMostProperties, kMostJoined));
    uint8_t& state = seen[schema];
    if (state == kEntered && !no_null) {  // it is valid where it is valid
      none(next.at.place, "it refers to itself");
      return std::optional<Schemas>();
    }
    if (state != kNew && !no_null) continue;
    if (forbids_all(*schema)) return std::optional<Schemas>();
    if (schema->is_boolean()) continue;
    if (standing_.find(schema) == standing_.end()) standing_.emplace(schema, keep(next.at.place));
    if (schema->is_array() && schema->size() != 1) {
      state = kLeft;
      if (there.insert(schema).second) all.push_back(schema);
      continue;
    }
    state = kEntered;
    open.push_back({{schema, ""}, true});
    RIDGE_ASSIGN(Parts parts, parts_of(*schema, next.at.place, no_null, roughly));
    if (parts.own && there.insert(schema).second) all.push_back(schema);
    for (size_t i = parts.named.size(); i > 0; --i) open.push_back({std::move(parts.named[i - 1])});
  }
  return std::optional(std::move(all));
}

// `roughly`: the schemas that it names may let in more.
Result<SchemaCompiler::Parts> SchemaCompiler::parts_of(const Json& schema, const std::string& place, bool no_null,
                                                       bool roughly) {
  if (schema.is_array()) return Parts{false, {{&schema[0], place_of(place, "0")}}};
  if (!schema.is_object())
    return schema_error(
        Code::kInvalid, place,
        fmt::format("a schema should be an object, true or false, found {}", dump_json(schema).substr(0, 80)));
  if (const auto nullable = schema.find("nullable"); nullable != schema.end() && !no_null) {
    if (!nullable->is_boolean())
      return schema_error(Code::kInvalid, place_of(place, "nullable"), "should be true or false");
    if (nullable->get<bool>()) return Parts{false, {{document_.nullable_list(schema), place}}};
  }
  Parts parts;
  bool depends = false;
  for (const auto& [word, value] : schema.items()) {
    const Result<Keyword> about = keyword_of(word, place);
    const bool of_schemas = about && *about == Keyword::kSchemas, says_little = about && *about == Keyword::kNote;
    parts.own = parts.own || word == "format" || !(of_schemas || says_little || word == "nullable");
    depends = depends || word.starts_with("depende");
    if (!word.ends_with("Of") || !of_schemas) continue;
    if (!value.is_array() || value.empty())
      return schema_error(Code::kInvalid, place_of(place, word), "should be a list of schemas that is not empty");
  }
  const auto add = [&](const char* word, const Json* part) { parts.named.push_back({part, place_of(place, word)}); };
  if (schema.contains("$ref")) {
    RIDGE_ASSIGN(const Json* target, document_.referred(schema, place));
    parts.named.push_back({target, schema["$ref"].get<std::string>()});
  }
  if (const auto all = schema.find("allOf"); all != schema.end()) {
    const std::string at = place_of(place, "allOf");
    if (all->size() > kMostProperties)
      return schema_error(Code::kExhausted, at, fmt::format("more than {} schemas", kMostProperties));
    for (size_t i = 0; i < all->size(); ++i) parts.named.push_back({&(*all)[i], place_of(at, std::to_string(i))});
  }
  if (schema.contains("anyOf")) add("anyOf", &schema["anyOf"]);
  if (schema.contains("oneOf") && roughly) add("oneOf", &schema["oneOf"]);
  if (roughly) return parts;
  if (schema.contains("oneOf")) {
    const auto never_both = [&](const Json& first, const Json& second) {
      return apart({{&first, place}}, {{&second, place}}, 0);
    };
    RIDGE_ASSIGN(const Json* list, document_.one_of_list(schema, place, never_both));
    add("oneOf", list);
  }
  if (schema.contains("not")) {
    RIDGE_ASSIGN(const Json* list, document_.not_list(schema, place));
    add("not", list->empty() ? &kNothing : list);
  }
  if (schema.contains("if")) add("if", document_.if_list(schema));
  if (depends) {
    RIDGE_ASSIGN(const Json* all, document_.dependencies(schema, place));
    add("dependencies", all);
  }
  return parts;
}

Result<bool> SchemaCompiler::apart(const std::vector<Located>& first, const std::vector<Located>& second, int depth) {
  constexpr int kDeepest = 4;
  if (depth > kDeepest) return false;
  RIDGE_ASSIGN(const auto ones, join(first, {}, true));
  RIDGE_ASSIGN(const auto others, join(second, {}, true));
  if (!ones || !others) return true;
  for (const auto& [lists, rest] : {std::pair{&*ones, &second}, std::pair{&*others, &first}}) {
    for (const Json* list : *lists) {
      if (!list->is_array()) continue;
      bool all = true;
      for (size_t i = 0; i < list->size() && all; ++i) {
        RIDGE_ASSIGN(all, apart({{&(*list)[i], text_of(standing_.at(list))}}, *rest, depth + 1));
      }
      if (all) return true;
    }
  }
  RIDGE_ASSIGN(const auto types, types_of_all(*ones, false));
  RIDGE_ASSIGN(const auto other_types, types_of_all(*others, false));
  std::vector<std::string> both;
  for (const std::string& type : types)
    for (const std::string& other : other_types)
      if (type == other || (type == "number" && other == "integer") || (type == "integer" && other == "number"))
        both.push_back(type);
  if (both.empty()) return true;
  RIDGE_ASSIGN(const bool by_values, apart_by_values(*ones, *others));
  if (by_values) return true;
  RIDGE_ASSIGN(const bool by_others_values, apart_by_values(*others, *ones));
  if (by_others_values) return true;
  if (both.size() > 1) return false;
  Schemas all = *ones;
  all.insert(all.end(), others->begin(), others->end());
  if (both[0] == "object") {
    RIDGE_ASSIGN(const bool by_members, apart_by_members(*ones, *others, depth));
    return by_members ? true : apart_by_members(*others, *ones, depth);
  }
  if (both[0] == "string") {
    RIDGE_ASSIGN(const auto lengths, counts(all, "minLength", "maxLength"));
    if (lengths.first > lengths.second) return true;
    RIDGE_ASSIGN(const auto texts, texts_of(all, {0, kUnbounded}));
    return texts && texts->empty();
  }
  if (both[0] != "number" && both[0] != "integer") return false;
  RIDGE_ASSIGN(const auto low, bound(all, true));
  RIDGE_ASSIGN(const auto high, bound(all, false));
  return low && high &&
         (is_less(high->value, low->value) ||
          (!is_less(low->value, high->value) && !(low->inclusive && high->inclusive)));
}

// Values of one of them are listed, and none is valid for the other.
Result<bool> SchemaCompiler::apart_by_values(const Schemas& first, const Schemas& second) {
  for (const Json* schema : first) {
    if (word_of_values(*schema) == nullptr) continue;
    const Json values = listed_values(*schema);
    bool none_fits = values.is_array();
    for (const Json& value : values) {
      bool fits = true;
      for (const Json* other : second) {
        if (!other->is_object()) continue;
        RIDGE_ASSIGN(const bool holds, document_.holds(value, *other, text_of(standing_.at(other))));
        fits = fits && holds;
      }
      none_fits = none_fits && !fits;
    }
    if (none_fits) return true;
  }
  return false;
}

// One needs a member that the other does not allow to be what it has to be.
Result<bool> SchemaCompiler::apart_by_members(const Schemas& first, const Schemas& second, int depth) {
  Object needs, others;
  RIDGE_TRY(read_object(first, needs));
  RIDGE_TRY(read_object(second, others));
  others.closed = needs.closed = false;  // by what is written only
  for (const JsonMember& member : needs.members) {
    if (!member.required) continue;
    RIDGE_ASSIGN(const auto own, schemas_of_member(needs, member.name));
    RIDGE_ASSIGN(const auto theirs, schemas_of_member(others, member.name));
    if (own.empty() || theirs.empty()) {
      if (std::ranges::any_of(theirs, [](const Located& at) { return forbids_all(*at.schema); })) return true;
      continue;
    }
    RIDGE_ASSIGN(const bool found, apart(own, theirs, depth + 1));
    if (found) return true;
  }
  return false;
}

Result<JsonProgram> compile_schema(const Json& schema) {
  JsonBuilder builder;
  Patterns patterns;
  JsonProgram& program = builder.program();
  SchemaCompiler compiler(builder, patterns, schema);
  RIDGE_ASSIGN(program.begin, compiler.compile());
  RIDGE_TRY(finish_program(program));
  RIDGE_TRY(compiler.check_that_it_ends(program.begin));
  program.source = dump_json(schema);
  return std::move(program);
}

Result<JsonProgram> compile_expression(std::string_view expression) {
  JsonBuilder builder;
  JsonProgram& program = builder.program();
  Patterns patterns;
  RIDGE_ASSIGN(const CharacterAutomaton* texts, patterns.of(expression, "regular expression", true));
  if (texts->empty()) return Error{Code::kInvalid, "no text matches the regular expression"};
  const std::optional<uint32_t> begin = program.characters.add(*texts);
  program.begin = builder.text(*begin);
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
  Patterns patterns;
  std::deque<SchemaCompiler> compilers;
  std::vector<uint32_t> targets, rules;
  program.source = several ? "several " : "one ";
  for (const JsonInText& text : texts) {
    Result<uint32_t> rule = compilers.emplace_back(builder, patterns, *text.schema).compile();
    if (!rule) return wrap(std::move(rule).error(), text.name);
    rules.push_back(*rule);
    targets.push_back(builder.in_text(text, *rule, again));
    for (const std::string& part : {text.begin, text.before, dump_json(*text.schema), text.after, text.end})
      program.source += fmt::format("{} {}", part.size(), part);
  }
  builder.set_targets(program.begin, targets);
  RIDGE_TRY(finish_program(program));
  for (size_t i = 0; i < texts.size(); ++i)
    if (Status ends = compilers[i].check_that_it_ends(rules[i]); !ends)
      return wrap(std::move(ends).error(), texts[i].name);
  if (program.nodes[program.begin].height > kMostJsonDepth)
    return Error{Code::kInvalid, fmt::format("JSON schemas: no text of at most {} levels is valid", kMostJsonDepth)};
  return std::move(program);
}

}  // namespace ridge::text
