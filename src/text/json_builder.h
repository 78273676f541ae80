// The nodes of a JsonProgram, by the forms of JSON: a value of each kind, from the rules of its members. Not for schemas: json_schema.h. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
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

// Each function returns the node at which a value begins; its rule ends with it.
class JsonBuilder {
 public:
  JsonBuilder();

  // Of any of its targets, which are told later.
  uint32_t rule();
  void set_targets(uint32_t rule, const std::vector<uint32_t>& targets);

  uint32_t word(std::string_view text) { return literal(text, return_); }
  uint32_t string(uint32_t least, uint32_t most);
  // What the byte automaton reads from a state on, after a minus.
  uint32_t bytes(uint32_t state, bool negative = false);
  // The rules of `prefix`, then `items` as often as is allowed; without `items` nothing more. least ≤ most, and ≤ the prefix's size without `items`.
  uint32_t array(uint32_t least, uint32_t most, const std::vector<uint32_t>& prefix, std::optional<uint32_t> items);
  // Members in their order, then others of the rule `additional`.
  uint32_t object(const std::vector<JsonMember>& members, std::optional<uint32_t> additional);

  // `begin`, white space, `before`, a value of the rule, `after`, white space, `end`; then the rule `again` after white space, or nothing.
  uint32_t in_text(const JsonInText& text, uint32_t rule, std::optional<uint32_t> again);

  JsonProgram& program() { return program_; }
  // Regular expressions that the byte automaton has, and where it begins to read them.
  std::map<std::string, uint32_t, std::less<>>& patterns() { return patterns_; }

 private:
  uint32_t add(JsonNode node);
  uint32_t literal(std::string_view text, uint32_t next);
  uint32_t space(uint32_t next) { return add({.kind = JsonNode::kSpace, .next = next}); }
  uint32_t comma(uint32_t next) { return literal(",", space(next)); }
  uint32_t choice(uint32_t first, uint32_t second) {
    return add({.kind = JsonNode::kChoice, .next = second, .a = first});
  }
  uint32_t call(uint32_t rule, uint32_t next, uint32_t counted = 0) {
    return add({.kind = JsonNode::kCall, .next = next, .a = rule, .b = counted});
  }

  JsonProgram program_;
  std::map<std::string, uint32_t, std::less<>> patterns_;
  uint32_t return_ = 0;
};

}  // namespace ridge::text
