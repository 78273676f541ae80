#include "text/regular_expression.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "text/json_program.h"
#include "text/unicode.h"

namespace ridge::text {
namespace {

constexpr uint32_t kMostRepeats = 1000;
constexpr int kMostGroups = 50;  // within one another

using Ranges = std::vector<CharacterRange>;

Ranges merged(Ranges ranges) {
  std::ranges::sort(ranges, {}, &CharacterRange::first);
  Ranges result;
  for (const CharacterRange& range : ranges) {
    if (!result.empty() && range.first <= result.back().last + 1)
      result.back().last = std::max(result.back().last, range.last);
    else
      result.push_back(range);
  }
  return result;
}

Ranges all_but(const Ranges& ranges) {
  Ranges result;
  char32_t from = 0;
  for (const CharacterRange& range : merged(ranges)) {
    if (range.first > from) result.push_back({from, range.first - 1});
    from = range.last + 1;
  }
  if (from <= kLastCodePoint) result.push_back({from, kLastCodePoint});
  return result;
}

// ECMA-262, CharacterClassEscape; a capital letter is the rest.
const std::pair<char32_t, Ranges> kClasses[] = {{'d', {{'0', '9'}}},
                                                {'w', {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}},
                                                {'s',
                                                 {{'\t', '\r'},
                                                  {' ', ' '},
                                                  {0xa0, 0xa0},
                                                  {0x1680, 0x1680},
                                                  {0x2000, 0x200a},
                                                  {0x2028, 0x2029},
                                                  {0x202f, 0x202f},
                                                  {0x205f, 0x205f},
                                                  {0x3000, 0x3000},
                                                  {0xfeff, 0xfeff}}}};
constexpr std::pair<char32_t, char32_t> kControls[] = {{'t', '\t'}, {'n', '\n'}, {'v', '\v'},
                                                       {'f', '\f'}, {'r', '\r'}, {'0', 0}};

bool one_of(std::u32string_view characters, char32_t c) { return characters.find(c) != std::u32string_view::npos; }

RegularExpression characters(Ranges ranges) {
  return {.kind = RegularExpression::kCharacters, .ranges = std::move(ranges)};
}

RegularExpression any_text() {
  return {.kind = RegularExpression::kRepeat, .parts = {characters({{0, kLastCodePoint}})}, .most = kUnbounded};
}

class ExpressionParser {
 public:
  ExpressionParser(std::string_view text, bool whole) : whole_(whole) {
    for (size_t at = 0; at < text.size();) text_.push_back(next_code_point(text, at));
  }

  Result<RegularExpression> whole() {
    RegularExpression choice{.kind = RegularExpression::kChoice};
    do {
      const bool begins = take('^') || whole_;
      RIDGE_ASSIGN(RegularExpression sequence, read_sequence(0));
      const bool ends = take('$') || whole_;
      if (!begins) sequence.parts.insert(sequence.parts.begin(), any_text());
      if (!ends) sequence.parts.push_back(any_text());
      choice.parts.push_back(std::move(sequence));
    } while (take('|'));
    if (at_ < text_.size()) return next() == ')' ? wrong("a ) without its (") : anchor_inside();
    return choice;
  }

 private:
  bool ended() const { return at_ == text_.size(); }
  char32_t next() const { return ended() ? 0 : text_[at_]; }
  bool take(char32_t c) {
    if (ended() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  Error wrong(const std::string& what) const {
    return {Code::kInvalid, fmt::format("is not a regular expression: {} at character {}", what, at_ + 1)};
  }
  Error unsupported(const std::string& what) const {
    return {Code::kUnsupported, fmt::format("has {} at character {}, which is not supported", what, at_ + 1)};
  }
  Error anchor_inside() const { return unsupported("^ or $ elsewhere than at the ends of an alternative"); }

  Result<RegularExpression> read_choice(int depth) {
    RegularExpression choice{.kind = RegularExpression::kChoice};
    do {
      RIDGE_ASSIGN(RegularExpression sequence, read_sequence(depth));
      choice.parts.push_back(std::move(sequence));
    } while (take('|'));
    return choice;
  }

  // Up to |, ), ^, $ or the end.
  Result<RegularExpression> read_sequence(int depth) {
    RegularExpression sequence;
    while (!ended() && next() != '|' && next() != ')' && next() != '^' && next() != '$') {
      RIDGE_ASSIGN(RegularExpression atom, read_atom(depth));
      RIDGE_ASSIGN(atom, read_repeats(std::move(atom)));
      sequence.parts.push_back(std::move(atom));
    }
    return sequence;
  }

  Result<RegularExpression> read_atom(int depth) {
    if (take('(')) return read_group(depth + 1);
    if (take('[')) return read_class();
    if (take('.')) return characters(all_but({{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}}));
    if (take('\\')) {
      RIDGE_ASSIGN(Ranges escaped, read_escape(false));
      return characters(std::move(escaped));
    }
    if (one_of(U"*+?{}]", next())) return wrong("a repetition of nothing, or a bracket alone");
    const char32_t c = text_[at_++];
    return characters({{c, c}});
  }

  Result<RegularExpression> read_group(int depth) {
    if (depth > kMostGroups) return unsupported(fmt::format("more than {} groups within one another", kMostGroups));
    if (take('?') && !take(':')) {
      if (!take('<') || next() == '=' || next() == '!') return unsupported("look-around or flags");
      while (!ended() && next() != '>') ++at_;
      if (!take('>')) return wrong("a name of a group without its end");
    }
    RIDGE_ASSIGN(RegularExpression inside, read_choice(depth));
    if (take(')')) return inside;
    return ended() ? wrong("a ( without its )") : anchor_inside();
  }

  Result<RegularExpression> read_repeats(RegularExpression atom) {
    RegularExpression repeat{.kind = RegularExpression::kRepeat, .most = kUnbounded};
    if (take('+')) {
      repeat.least = 1;
    } else if (take('?')) {
      repeat.most = 1;
    } else if (take('{')) {
      RIDGE_ASSIGN(repeat.least, read_number());
      repeat.most = repeat.least;
      if (take(',')) {
        repeat.most = kUnbounded;
        if (next() != '}') {
          RIDGE_ASSIGN(repeat.most, read_number());
        }
      }
      if (!take('}')) return wrong("a { without its }");
      if (repeat.least > repeat.most) return wrong("a repetition whose least is above its most");
    } else if (!take('*')) {
      return atom;
    }
    take('?');  // which of several ways is found first, not which strings
    repeat.parts.push_back(std::move(atom));
    if (one_of(U"*+?{", next()) && !ended()) return wrong("a repetition of a repetition");
    return repeat;
  }

  Result<uint32_t> read_number() {
    uint32_t number = 0;
    const size_t begin = at_;
    for (; next() >= '0' && next() <= '9'; ++at_)
      if (number <= kMostRepeats) number = number * 10 + (next() - '0');
    if (at_ == begin) return wrong("no number");
    if (number > kMostRepeats) return unsupported(fmt::format("a repetition of more than {}", kMostRepeats));
    return number;
  }

  Result<RegularExpression> read_class() {
    const bool negated = take('^');
    Ranges ranges;
    while (!take(']')) {
      if (ended()) return wrong("a [ without its ]");
      RIDGE_ASSIGN(const Ranges first, read_class_atom());
      const bool is_range = next() == '-' && at_ + 1 < text_.size() && text_[at_ + 1] != ']';
      if (!is_range) {
        ranges.insert(ranges.end(), first.begin(), first.end());
        continue;
      }
      ++at_;
      RIDGE_ASSIGN(const Ranges last, read_class_atom());
      const auto is_one = [](const Ranges& r) { return r.size() == 1 && r[0].first == r[0].last; };
      if (!is_one(first) || !is_one(last) || first[0].first > last[0].first) return wrong("a range without order");
      ranges.push_back({first[0].first, last[0].first});
    }
    return characters(negated ? all_but(ranges) : merged(std::move(ranges)));
  }

  Result<Ranges> read_class_atom() {
    if (ended()) return wrong("a [ without its ]");
    if (take('\\')) return read_escape(true);
    const char32_t c = text_[at_++];
    return Ranges{{c, c}};
  }

  Result<Ranges> read_escape(bool in_class) {
    if (ended()) return wrong("a \\ without what it escapes");
    const char32_t c = text_[at_++];
    for (const auto& [letter, ranges] : kClasses) {
      if (c == letter) return ranges;
      if (c == letter - 'a' + 'A') return all_but(ranges);
    }
    for (const auto& [letter, control] : kControls)
      if (c == letter && !(c == '0' && next() >= '0' && next() <= '9')) return Ranges{{control, control}};
    if (c == 'b' && in_class) return Ranges{{'\b', '\b'}};
    if (c == 'x' || c == 'u') return read_hexadecimal(c == 'x' ? 2 : 4);
    const bool is_letter = (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
    if (c < 0x80 && !is_letter && !(c >= '0' && c <= '9'))
      return Ranges{{c, c}};  // without flag u, as most are written
    --at_;
    std::string name;
    append_utf8(name, c);
    return unsupported("\\" + name);
  }

  Result<Ranges> read_hexadecimal(int digits) {
    const bool braces = digits == 4 && take('{');
    char32_t value = 0;
    int read = 0;
    for (; (braces || read < digits) && value <= kLastCodePoint; ++read, ++at_) {
      const char32_t c = next();
      if (c >= '0' && c <= '9')
        value = value * 16 + (c - '0');
      else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f')
        value = value * 16 + ((c | 0x20) - 'a' + 10);
      else
        break;
    }
    const bool whole = braces ? read > 0 && take('}') : read == digits;
    if (!whole || value > kLastCodePoint) return wrong("a wrong number of a character");
    if (value >= kFirstSurrogate && value <= kLastSurrogate) return unsupported("half of a surrogate pair");
    return Ranges{{value, value}};
  }

  std::u32string text_;
  const bool whole_;
  size_t at_ = 0;
};

}  // namespace

Result<RegularExpression> parse_regular_expression(std::string_view pattern, bool whole) {
  return ExpressionParser(pattern, whole).whole();
}

}  // namespace ridge::text
