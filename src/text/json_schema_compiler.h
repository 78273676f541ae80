// The compiler of JSON schemas. Its parts stand in json_schema.cc (rules and how schemas join), json_schema_types.cc
// and json_schema_object.cc.
#pragma once

#include <fmt/format.h>

#include <deque>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "text/json_builder.h"
#include "text/json_document.h"
#include "text/json_pattern.h"
#include "text/json_range.h"

namespace ridge::text {

// Limits on one object's properties and on one choice: their branches fit into kMostJsonBranches.
inline constexpr size_t kMostProperties = 1000, kMostAlternatives = 1000, kMostKeys = 64;
inline constexpr size_t kLongestName = 4096, kLongestPlace = 65'536;  // [bytes]
inline constexpr size_t kMostNodes = 200'000, kMostByteStates = 300'000, kMostJoined = 250'000;
inline constexpr size_t kMostOfWords =
    128 * 1024;  // [bytes] of the values of an enum or a choice; each takes up to 150

// Errors: words of more than kMostOfWords in all.
Status check_length(const std::vector<std::string>& words, const std::string& place);

inline bool forbids_all(const Json& schema) { return schema.is_boolean() && !schema.get<bool>(); }
// The word by which an object lists its values; null: it does not.
inline const char* word_of_values(const Json& schema) {
  if (!schema.is_object()) return nullptr;
  return schema.contains("enum") ? "enum" : schema.contains("const") ? "const" : nullptr;
}
// The values that an object lists.
inline Json listed_values(const Json& schema) {
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

}  // namespace ridge::text
