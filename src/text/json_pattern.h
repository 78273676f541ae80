// Regular expressions of JSON schemas (`pattern`, the named `format`s) → automata. One thread.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "text/character_automaton.h"

namespace ridge::text {

// The patterns of a program: each is made once, and the work for all of them and their products is bounded.
class Patterns {
 public:
  // `pattern`: ECMA-262 with flag u, as far as it is regular; with `whole` it describes a text as a whole, else, as in
  // JSON Schema, any part that ^ and $ do
  // not bind. `place`: of the pattern, for errors. kInvalid: no such expression. kUnsupported: look-around, back-
  // references, word boundaries, \p, and ^ or $
  // elsewhere than at the ends of an alternative. kExhausted: more patterns, states or work than are kept.
  Result<const CharacterAutomaton*> of(std::string_view pattern, const std::string& place, bool whole = false);
  // The texts of both, or of the first but not of the second.
  Result<CharacterAutomaton> both(const CharacterAutomaton& first, const CharacterAutomaton& second,
                                  const std::string& place) {
    return kept(first.with(second, work_), place);
  }
  Result<CharacterAutomaton> without(const CharacterAutomaton& first, const CharacterAutomaton& second,
                                     const std::string& place) {
    return kept(first.without(second, work_), place);
  }

 private:
  Result<CharacterAutomaton> kept(std::optional<CharacterAutomaton> made, const std::string& place) const;

  std::map<std::string, CharacterAutomaton, std::less<>> known_;
  size_t work_ = 0;
};

// The expression of a format ("date-time"); empty: it restricts nothing here.
std::string_view pattern_of_format(std::string_view format);

}  // namespace ridge::text
