// Regular expressions of ECMA-262 (flag u) as trees, if regular. Not for matching: json_pattern.h. Pure.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ridge::text {

struct CharacterRange {
  char32_t first, last;
  bool operator==(const CharacterRange&) const = default;
};

struct RegularExpression {
  enum Kind : uint8_t { kCharacters, kSequence, kChoice, kRepeat };
  Kind kind = kSequence;
  std::vector<CharacterRange> ranges = {};    // of kCharacters: sorted, apart; may be empty
  std::vector<RegularExpression> parts = {};  // of kRepeat: one
  uint32_t least = 0, most = 0;               // of kRepeat; json_program.h's kUnbounded: no limit
};

// `whole`: the pattern describes a whole string, else one in which a search would find it: any characters beyond ^ and
// $ unless it binds them. Errors are about the pattern alone.
Result<RegularExpression> parse_regular_expression(std::string_view pattern, bool whole = false);

}  // namespace ridge::text
