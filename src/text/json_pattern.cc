#include "text/json_pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <bitset>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "base/json.h"
#include "text/json_keywords.h"
#include "text/regular_expression.h"
#include "text/unicode.h"

namespace ridge::text {
namespace {

constexpr size_t kMostPatternParts = 50'000, kMostPatternStates = 20'000;
constexpr size_t kMostPatternWork = 20'000'000;  // steps: tenths of a second

// The bytes of a pattern's strings as a nondeterministic automaton (Thompson 1968).
class ByteMatcher {
 public:
  struct Edge {
    uint8_t first, last;
    uint32_t target;
  };
  struct State {
    std::vector<Edge> edges;
    std::vector<uint32_t> free;  // reached without a byte
  };

  explicit ByteMatcher(PatternOf of) : of_(of), states_(2) {}
  // False: more states than are kept.
  bool add(const RegularExpression& expression) {
    const uint32_t open = add();
    const uint32_t close = add_part(expression, open);
    if (of_ == PatternOf::kString) {
      states_[kBegin].edges.push_back({'"', '"', open});
      states_[close].edges.push_back({'"', '"', kEnd});
    } else {
      states_[kBegin].free.push_back(open);
      states_[close].free.push_back(kEnd);
    }
    return states_.size() <= kMostPatternParts;
  }
  const State& state(uint32_t number) const { return states_[number]; }
  static constexpr uint32_t kBegin = 0, kEnd = 1;

 private:
  uint32_t add() {
    states_.emplace_back();
    return static_cast<uint32_t>(states_.size() - 1);
  }

  // From a state to the one that is returned.
  uint32_t add_part(const RegularExpression& part, uint32_t from) {
    if (states_.size() > kMostPatternParts) return from;
    switch (part.kind) {
      case RegularExpression::kCharacters: {
        const uint32_t to = add();
        for (const CharacterRange& range : part.ranges) add_characters(from, to, range.first, range.last);
        return to;
      }
      case RegularExpression::kSequence:
        for (const RegularExpression& each : part.parts) from = add_part(each, from);
        return from;
      case RegularExpression::kChoice: {
        const uint32_t to = add();
        for (const RegularExpression& each : part.parts) {
          const uint32_t end = add_part(each, from);
          states_[end].free.push_back(to);
        }
        return to;
      }
      case RegularExpression::kRepeat: return add_repeat(part, from);
    }
    return from;
  }

  uint32_t add_repeat(const RegularExpression& part, uint32_t from) {
    const RegularExpression& inner = part.parts.front();
    for (uint32_t i = 0; i < part.least && states_.size() <= kMostPatternParts; ++i) from = add_part(inner, from);
    const uint32_t to = add();
    if (part.most == kUnbounded) {
      const uint32_t begin = add();
      states_[from].free.push_back(begin);
      const uint32_t end = add_part(inner, begin);
      states_[end].free.push_back(begin);
      states_[begin].free.push_back(to);
      return to;
    }
    for (uint32_t i = part.least; i < part.most && states_.size() <= kMostPatternParts; ++i) {
      states_[from].free.push_back(to);
      from = add_part(inner, from);
    }
    states_[from].free.push_back(to);
    return to;
  }

  // In strings as JSON.stringify writes them; surrogates are no characters.
  void add_characters(uint32_t from, uint32_t to, char32_t first, char32_t last) {
    if (of_ == PatternOf::kText && first < 0x80) {
      add_utf8(from, to, first, std::min<char32_t>(last, 0x7f));
      first = 0x80;
    }
    for (char32_t c = first; c <= std::min<char32_t>(last, '\\'); ++c) {
      if (c >= 0x20 && c != '"' && c != '\\') continue;
      std::string text;
      append_utf8(text, c);
      const std::string quoted = dump_json(Json(text));
      uint32_t at = from;
      for (size_t i = 1; i + 1 < quoted.size(); ++i) {
        const uint32_t next = i + 2 == quoted.size() ? to : add();
        const auto byte = static_cast<uint8_t>(quoted[i]);
        states_[at].edges.push_back({byte, byte, next});
        at = next;
      }
    }
    constexpr CharacterRange kPlain[] = {{0x20, 0x21},    {0x23, 0x5b},     {0x5d, 0x7f},       {0x80, 0x7ff},
                                         {0x800, 0xd7ff}, {0xe000, 0xffff}, {0x10000, 0x10ffff}};
    for (const CharacterRange& plain : kPlain)
      if (first <= plain.last && plain.first <= last)
        add_utf8(from, to, std::max(first, plain.first), std::min(last, plain.last));
  }

  // Of characters with equally many bytes: ranges of them whose bytes vary freely, each a chain.
  void add_utf8(uint32_t from, uint32_t to, char32_t first, char32_t last) {
    for (int bits = 6; bits <= 18; bits += 6) {
      const char32_t rest = (char32_t{1} << bits) - 1;
      if (first < 0x80 || (first & ~rest) == (last & ~rest)) continue;
      if ((first & rest) != 0) {
        add_utf8(from, to, first, first | rest);
        return add_utf8(from, to, (first | rest) + 1, last);
      }
      if ((last & rest) != rest) {
        add_utf8(from, to, first, (last & ~rest) - 1);
        return add_utf8(from, to, last & ~rest, last);
      }
    }
    std::string low, high;
    append_utf8(low, first);
    append_utf8(high, last);
    for (size_t i = 0; i < low.size(); ++i) {
      const uint32_t next = i + 1 == low.size() ? to : add();
      states_[from].edges.push_back({static_cast<uint8_t>(low[i]), static_cast<uint8_t>(high[i]), next});
      from = next;
    }
  }

  const PatternOf of_;
  std::vector<State> states_;
};

// The same strings, one state at a time (the subset construction of Rabin and Scott 1959); states that lead to no end are left out.
class DeterministicBytes {
 public:
  explicit DeterministicBytes(const ByteMatcher& matcher) : matcher_(matcher) {}

  // False: more states than are kept.
  bool build() {
    number_of({ByteMatcher::kBegin});
    for (uint32_t at = 0; at < sets_.size(); ++at) {
      if (sets_.size() > kMostPatternStates || work_ > kMostPatternWork) return false;
      build_row(at);
    }
    mark_what_ends();
    return true;
  }

  // The first state's number; empty: no string is read.
  std::optional<uint32_t> add_to(ByteAutomaton& bytes) const {
    if (!ends_[0]) return std::nullopt;
    std::vector<uint32_t> numbers(sets_.size(), 0);
    uint32_t count = 0;
    for (size_t i = 0; i < sets_.size(); ++i) numbers[i] = ends_[i] ? count++ : 0;
    const uint32_t first = bytes.next_state();
    for (size_t i = 0; i < sets_.size(); ++i) {
      if (!ends_[i]) continue;
      bytes.add_state(is_end(i));
      for (const auto& [byte, target] : rows_[i])
        if (ends_[target]) bytes.add_edge(byte, first + numbers[target]);
    }
    return first;
  }

 private:
  using Set = std::vector<uint32_t>;  // sorted

  bool is_end(size_t number) const { return std::ranges::binary_search(*sets_[number], ByteMatcher::kEnd); }

  uint32_t number_of(Set from) {
    Set open = from;
    std::ranges::sort(from);
    while (!open.empty()) {
      const uint32_t at = open.back();
      open.pop_back();
      for (const uint32_t next : matcher_.state(at).free) {
        const auto place = std::ranges::lower_bound(from, next);
        if (place != from.end() && *place == next) continue;
        work_ += from.size();
        if (work_ > kMostPatternWork) break;
        from.insert(place, next);
        open.push_back(next);
      }
    }
    const auto [entry, added] = numbers_.emplace(std::move(from), static_cast<uint32_t>(sets_.size()));
    if (added) sets_.push_back(&entry->first);
    return entry->second;
  }

  // Bytes between two bounds of edges lead to the same states.
  void build_row(uint32_t at) {
    std::bitset<257> bounds;
    std::vector<ByteMatcher::Edge> edges;
    for (const uint32_t state : *sets_[at])
      for (const ByteMatcher::Edge& edge : matcher_.state(state).edges) {
        edges.push_back(edge);
        bounds.set(edge.first).set(edge.last + 1U);
      }
    work_ += edges.size() * bounds.count();
    auto& row = rows_.emplace_back();
    std::optional<uint32_t> target;
    for (size_t byte = 0; byte < 256; ++byte) {
      if (bounds[byte]) {
        Set reached;
        for (const ByteMatcher::Edge& edge : edges)
          if (edge.first <= byte && byte <= edge.last) reached.push_back(edge.target);
        std::ranges::sort(reached);
        reached.erase(std::unique(reached.begin(), reached.end()), reached.end());
        target = reached.empty() ? std::nullopt : std::optional(number_of(std::move(reached)));
      }
      if (target) row.emplace_back(static_cast<uint8_t>(byte), *target);
    }
  }

  void mark_what_ends() {
    std::vector<std::vector<uint32_t>> before(sets_.size());
    for (uint32_t i = 0; i < rows_.size(); ++i)
      for (const auto& [byte, target] : rows_[i])
        if (before[target].empty() || before[target].back() != i) before[target].push_back(i);
    ends_.assign(sets_.size(), false);
    std::vector<uint32_t> open;
    for (uint32_t i = 0; i < sets_.size(); ++i)
      if (is_end(i)) open.push_back(i);
    while (!open.empty()) {
      const uint32_t at = open.back();
      open.pop_back();
      if (ends_[at]) continue;
      ends_[at] = true;
      open.insert(open.end(), before[at].begin(), before[at].end());
    }
  }

  const ByteMatcher& matcher_;
  std::map<Set, uint32_t> numbers_;
  std::vector<const Set*> sets_;
  std::vector<std::vector<std::pair<uint8_t, uint32_t>>> rows_;
  std::vector<bool> ends_;
  size_t work_ = 0;
};

// RFC 3339 and RFC 4122 as ranges of digits: no leap seconds and no 29 February, so that each is a date.
#define RIDGE_DATE \
  "[0-9]{4}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))"
#define RIDGE_TIME "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])"
#define RIDGE_BYTE "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
constexpr std::pair<std::string_view, std::string_view> kFormatPatterns[] = {
    {"date", "^" RIDGE_DATE "$"},
    {"time", "^" RIDGE_TIME "$"},
    {"date-time", "^" RIDGE_DATE "T" RIDGE_TIME "$"},
    {"uuid", "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"},
    {"ipv4", "^(" RIDGE_BYTE "\\.){3}" RIDGE_BYTE "$"},
};
#undef RIDGE_DATE
#undef RIDGE_TIME
#undef RIDGE_BYTE

}  // namespace

Result<uint32_t> add_pattern(ByteAutomaton& bytes, std::string_view pattern, PatternOf of, const std::string& place) {
  Result<RegularExpression> expression = parse_regular_expression(pattern, of == PatternOf::kText);
  if (!expression) return schema_error(expression.error().code, place, expression.error().message);
  ByteMatcher matcher(of);
  DeterministicBytes states(matcher);
  if (!matcher.add(*expression) || !states.build())
    return schema_error(Code::kExhausted, place,
                        fmt::format("needs more than {} parts or {} states; make it shorter, or its repetitions fewer",
                                    kMostPatternParts, kMostPatternStates));
  if (const std::optional<uint32_t> first = states.add_to(bytes)) return *first;
  return schema_error(Code::kInvalid, place, "no string matches it");
}

std::string_view pattern_of_format(std::string_view format) {
  const auto* row = std::ranges::find(kFormatPatterns, format, &std::pair<std::string_view, std::string_view>::first);
  return row == std::end(kFormatPatterns) ? std::string_view() : row->second;
}

}  // namespace ridge::text
