// The nodes of a JsonProgram, by the forms of JSON: a value of each kind, from the rules of its members. Not for
// schemas: json_schema.h. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/json_program.h"

namespace ridge::text {

struct JsonInText;  // json_schema.h

struct JsonMember {
  std::string name;
  uint32_t rule = 0;
  bool required = false;
};

struct JsonOthers {
  uint32_t keys = 0, rule = 0;
};

// Each function returns the node at which a value begins; its rule ends with it.
class JsonBuilder {
 public:
  JsonBuilder();

  // A rule for any of its targets, which are set later.
  uint32_t rule();
  void set_targets(uint32_t rule, const std::vector<uint32_t>& targets);

  uint32_t word(std::string_view text) { return literal(text, return_); }
  uint32_t string(uint32_t least, uint32_t most);
  // Bytes that the byte automaton reads from a state on, after a minus.
  uint32_t bytes(uint32_t state, bool negative = false);
  // The rules of `prefix`, then `items` as often as is allowed; without `items` nothing more. least ≤ most, and ≤ the
  // prefix's size without `items`.
  uint32_t array(uint32_t least, uint32_t most, const std::vector<uint32_t>& prefix, std::optional<uint32_t> items);
  // A string that the automaton allows, or a text without quotes; `begin` is the character table's.
  uint32_t characters(uint32_t begin) { return add({.kind = JsonNode::kCharacters, .next = return_, .a = begin}); }
  uint32_t text(uint32_t begin) {
    return add({.kind = JsonNode::kCharacters, .next = return_, .a = CharacterTable::as_text(begin), .b = 1});
  }
  // Members in their order, then any of `others`, the key of which is a position of the character table; `least` to
  // `most` in all.
  uint32_t object(const std::vector<JsonMember>& members, const std::vector<JsonOthers>& others, uint32_t least,
                  uint32_t most);

  // `begin`, white space, `before`, a value of the rule, `after`, white space, `end`; then the rule `again` after white
  // space, or nothing.
  uint32_t in_text(const JsonInText& text, uint32_t rule, std::optional<uint32_t> again);

  JsonProgram& program() { return program_; }

 private:
  uint32_t add(JsonNode node);
  uint32_t literal(std::string_view text, uint32_t next);
  uint32_t space(uint32_t next) { return add({.kind = JsonNode::kSpace, .next = next}); }
  uint32_t comma(uint32_t next) { return literal(",", space(next)); }
  // After a value: the end from `least` values on, a comma and another while there are fewer than `most`.
  uint32_t more(uint32_t least, uint32_t most, uint32_t end, uint32_t another, uint32_t owed = 0) {
    if (least == 0 && most == kUnbounded) return choice(another, end);
    return add({.kind = JsonNode::kMore, .next = another, .a = least, .b = most, .c = end, .d = owed});
  }
  uint32_t choice(uint32_t first, uint32_t second) {
    return add({.kind = JsonNode::kChoice, .next = second, .a = first});
  }
  uint32_t call(uint32_t rule, uint32_t next, uint32_t counted = 0) {
    return add({.kind = JsonNode::kCall, .next = next, .a = rule, .b = counted});
  }

  JsonProgram program_;
  uint32_t return_ = 0;
};

}  // namespace ridge::text
