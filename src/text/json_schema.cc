#include "text/json_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "text/json_builder.h"
#include "text/json_document.h"
#include "text/json_keywords.h"
#include "text/json_pattern.h"
#include "text/json_range.h"

namespace ridge::text {
namespace {

// Limits on one object's properties and on one choice: their branches fit into kMostJsonBranches.
constexpr size_t kMostProperties = 1000, kMostAlternatives = 1000, kMostKeys = 64;
constexpr size_t kLongestName = 4096, kLongestPlace = 65'536;  // [bytes]
constexpr size_t kMostNodes = 200'000, kMostByteStates = 300'000, kMostJoined = 250'000;
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

const Json kNothing = false;
bool forbids_all(const Json& schema) { return schema.is_boolean() && !schema.get<bool>(); }

// The word by which an object lists its values; null: it does not.
const char* word_of_values(const Json& schema) {
  if (!schema.is_object()) return nullptr;
  return schema.contains("enum") ? "enum" : schema.contains("const") ? "const" : nullptr;
}
// The values that an object lists.
Json listed_values(const Json& schema) {
  return schema.contains("enum") ? schema["enum"] : Json::array({schema["const"]});
}

// A rule is of schemas that all hold; it is compiled once, and references to it call it. Rules that are found on the
// way wait in a queue: nothing recurses.
class SchemaCompiler {
 public:
  SchemaCompiler(JsonBuilder& builder, Patterns& patterns, const Json& schema)
      : document_(schema, patterns), patterns_(patterns), builder_(builder) {}
  // The document's rule.
  Result<uint32_t> compile();
  // Once the program is finished.
  Status check_that_it_ends(uint32_t rule) const;

 private:
  // Objects stand for the words in them that name no other schemas, lists for one of their schemas. In the order of the
  // document.
  using Schemas = std::vector<const Json*>;
  struct Waiting {
    Schemas schemas;
    size_t place;  // among places_
    uint32_t entry;
  };
  // A place is what it adds to the one that led to it: paths are long where names are.
  struct Place {
    size_t before;  // among places_
    std::string rest;
  };
  struct Located {
    const Json* schema;
    std::string place;
  };
  using Targets = std::vector<uint32_t>;

  size_t keep(const std::string& place);
  std::string text_of(size_t place) const;
  // Where one of the schemas that are being compiled stands.
  std::string place_at(const Json* schema, const char* word) const {
    return place_of(text_of(standing_.at(schema)), word);
  }
  void none(const std::string& place, const std::string& why) {
    if (!nothing_) nothing_ = schema_error(Code::kInvalid, place, why);
  }

  // Rule of `joined` and the schemas beside them.
  Result<uint32_t> rule_of(const std::vector<Located>& schemas, Schemas joined = {});
  Result<uint32_t> rule_of(const Json& schema, const std::string& place) {
    return rule_of(std::vector<Located>{{&schema, place}});
  }
  Result<std::optional<Schemas>> join(const std::vector<Located>& schemas, Schemas all, bool roughly = false);
  struct Parts {
    bool own = false;  // it has words of its own
    std::vector<Located> named;
  };
  Result<Parts> parts_of(const Json& schema, const std::string& place, bool no_null, bool roughly);
  // No value is valid for both; false: that is not known.
  Result<bool> apart(const std::vector<Located>& first, const std::vector<Located>& second, int depth);
  Result<bool> apart_by_values(const Schemas& first, const Schemas& second);
  Result<bool> apart_by_members(const Schemas& first, const Schemas& second, int depth);

  Status compile_rule(const Waiting& rule);
  Status add_alternatives(const Schemas& schemas, const Json& list, Targets& targets);
  Status add_values(const Schemas& schemas, const Json& with_values, Targets& targets);
  Result<bool> holds(const Json& value, const Json& schema, bool listed);
  Status add_type(const Schemas& schemas, const std::string& type, Targets& targets);
  // Types that all allow; without `type` those that their words are about, if `guessed`, or all.
  Result<std::vector<std::string>> types_of_all(const Schemas& schemas, bool guessed);
  Result<std::pair<uint32_t, uint32_t>> counts(const Schemas& schemas, const char* least, const char* most);
  Result<std::optional<CharacterAutomaton>> texts_of(const Schemas& schemas, std::pair<uint32_t, uint32_t> lengths);
  Status add_string(const Schemas& schemas, Targets& targets);
  Result<uint32_t> table_of(const CharacterAutomaton& automaton);
  Status add_numbers(const Schemas& schemas, bool whole, Targets& targets);
  Result<std::optional<NumberBound>> bound(const Schemas& schemas, bool low);
  Status add_array(const Schemas& schemas, Targets& targets);
  struct Object {
    struct Part {
      const Json* schema;
      const Json *properties = nullptr, *additional = nullptr;
      std::vector<std::pair<const CharacterAutomaton*, Located>> by_pattern;
    };
    std::vector<Part> parts;
    std::vector<JsonMember> members;                  // in order; without rules
    std::unordered_map<std::string, size_t> numbers;  // of members
    std::unordered_map<std::string, const Json*> needed_by;
    std::optional<CharacterAutomaton> names;  // that are allowed
    bool closed = false;                      // no members but those that are listed or needed
  };
  Result<CharacterAutomaton> names_of(const Json& schema, const std::string& place);
  Status add_object(const Schemas& schemas, Targets& targets);
  Status read_object(const Schemas& schemas, Object& object);
  Result<std::vector<Located>> schemas_of_member(const Object& object, const std::string& name);
  Result<std::vector<JsonOthers>> others_of(const Object& object);

  SchemaDocument document_;
  Patterns& patterns_;
  JsonBuilder& builder_;
  std::deque<Waiting> waiting_;
  std::vector<Place> places_{{0, ""}};
  size_t here_ = 0;                                   // of the rule that is being compiled
  std::string here_text_;                             // its text
  std::unordered_map<const Json*, size_t> standing_;  // among places_
  std::map<Schemas, uint32_t> rules_;                 // by sorted schemas
  std::unordered_map<const Json*, uint32_t> rules_of_one_;
  std::map<std::string, uint32_t> tables_;  // by what the automaton is made of
  std::optional<Error> nothing_;            // where a schema was found that no value is valid for
  size_t joined_ = 0;                       // schemas, in all
};

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

Status finish_program(JsonProgram& program) {
  if (finish(program, kMostAlternatives)) return {};
  return schema_error(Code::kExhausted, "#",
                      fmt::format("a choice has more than {} alternatives, or references lead to references too often",
                                  kMostAlternatives));
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

}  // namespace

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
