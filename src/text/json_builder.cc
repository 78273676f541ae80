#include "text/json_builder.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "text/json_schema.h"

namespace ridge::text {

JsonBuilder::JsonBuilder() {
  program_.end = add({.kind = JsonNode::kEnd});
  return_ = add({.kind = JsonNode::kReturn});
}

uint32_t JsonBuilder::add(JsonNode node) {
  program_.nodes.push_back(node);
  return static_cast<uint32_t>(program_.nodes.size() - 1);
}

uint32_t JsonBuilder::rule() { return add({.kind = JsonNode::kAny}); }

void JsonBuilder::set_targets(uint32_t rule, const std::vector<uint32_t>& targets) {
  program_.nodes[rule].a = static_cast<uint32_t>(program_.targets.size());
  program_.targets.insert(program_.targets.end(), targets.begin(), targets.end());
  program_.nodes[rule].b = static_cast<uint32_t>(program_.targets.size());
}

uint32_t JsonBuilder::literal(std::string_view text, uint32_t next) {
  if (text.empty()) return next;
  const auto at = static_cast<uint32_t>(program_.text.size());
  program_.text += text;
  return add({.kind = JsonNode::kLiteral, .next = next, .a = at, .b = static_cast<uint32_t>(text.size())});
}

uint32_t JsonBuilder::string(uint32_t least, uint32_t most) {
  return add({.kind = JsonNode::kText, .next = return_, .a = least, .b = most});
}

uint32_t JsonBuilder::bytes(uint32_t state, bool negative) {
  const uint32_t node = add({.kind = JsonNode::kBytes, .next = return_, .a = state});
  return negative ? literal("-", node) : node;
}

uint32_t JsonBuilder::array(uint32_t least, uint32_t most, const std::vector<uint32_t>& prefix,
                            std::optional<uint32_t> items) {
  const uint32_t close = literal("]", return_), spaced_close = space(close);
  // Beyond this many values no count is needed any more; until then frames that differ by it only are one.
  const uint32_t counted = most != kUnbounded ? most : least;
  const uint32_t first_count = std::max<uint32_t>(1, static_cast<uint32_t>(prefix.size()));
  uint32_t after = spaced_close, before = 0;  // after and before the value that is looked at
  if (items) {
    after =
        add({.kind = JsonNode::kMore, .a = least > first_count ? least : 0, .b = most, .c = spaced_close, .d = *items});
    before = call(*items, after, counted);
    program_.nodes[after].next = comma(before);
  }
  for (size_t i = prefix.size(); i > 0; --i) {
    if (i < prefix.size()) {
      after = i < most ? comma(before) : spaced_close;
      if (i < most && i >= least) after = choice(after, spaced_close);
    }
    before = call(prefix[i - 1], after, counted);
  }
  uint32_t begin = close;
  if (most > 0) begin = least > 0 ? before : choice(before, close);
  return literal("[", space(begin));
}

uint32_t JsonBuilder::in_text(const JsonInText& text, uint32_t rule, std::optional<uint32_t> again) {
  const uint32_t end = literal(text.end, again ? choice(space(*again), return_) : return_);
  return literal(text.begin, space(literal(text.before, call(rule, literal(text.after, space(end))))));
}

// Made from its end. Where members are counted, one that may be left out is taken only while those that are required
// still fit, and left out only while
// enough follow.
uint32_t JsonBuilder::object(const std::vector<JsonMember>& members, const std::vector<JsonOthers>& others,
                             uint32_t least, uint32_t most) {
  const uint32_t close = literal("}", return_), spaced_close = space(close);
  auto required = static_cast<uint32_t>(std::ranges::count_if(members, &JsonMember::required));
  if (required > most || (others.empty() && members.size() < least)) return rule();
  if (least <= required) least = 0;
  if (others.empty() && most >= members.size()) most = kUnbounded;
  if (most == 0) return literal("{", space(close));
  const uint32_t counted = most != kUnbounded ? most : least;
  uint32_t member = rule();       // one of the members from here on: so far none, a choice without targets
  uint32_t after = spaced_close;  // a value: a comma and one of those, or the end
  if (!others.empty()) {
    const uint32_t owed = rule();
    after = more(least, most, spaced_close, comma(member), owed);
    std::vector<uint32_t> keys, rules;
    for (const JsonOthers& other : others) {
      const uint32_t value = literal(":", space(call(other.rule, after, counted)));
      keys.push_back(add({.kind = JsonNode::kCharacters, .next = value, .a = other.keys}));
      rules.push_back(other.rule);
    }
    set_targets(member, keys);
    set_targets(owed, rules);
  }
  required = 0;  // from here on
  for (size_t i = members.size(); i > 0; --i) {
    const JsonMember& listed = members[i - 1];
    const uint32_t key = literal(dump_json(Json(listed.name)) + ":", space(call(listed.rule, after, counted)));
    const auto following = static_cast<uint32_t>(members.size() - i);
    const uint32_t skipped = others.empty() ? least - std::min(least, following) : 0;
    const bool is_last = following == 0 && others.empty();
    member = listed.required || is_last ? key : more(skipped, most == kUnbounded ? most : most - required, member, key);
    required += listed.required ? 1 : 0;
    after = required == 0 ? more(least, most, spaced_close, comma(member)) : comma(member);
  }
  return literal("{", space(required == 0 && least == 0 ? choice(member, close) : member));
}

}  // namespace ridge::text
