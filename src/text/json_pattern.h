// Regular expressions of JSON schemas (`pattern`, the named `format`s) → states of the byte automaton that read a whole string, quotes included, in which
// characters have one form, as JSON.stringify writes them; or those of plain texts. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "text/json_program.h"

namespace ridge::text {

enum class PatternOf { kString, kText };

// `pattern`: ECMA-262 with flag u, as far as it is regular; in a string it holds, as in JSON Schema, for any part that ^ and $ do not bind, in a text for
// all of it. Returns the state before the opening quote, or the text. `place`: of the pattern, for errors. kInvalid: no such expression, or no string matches. kUnsupported: look-around,
// back-references, word boundaries, \p, and ^ or $ elsewhere than at the ends of an alternative. kExhausted: more states than are kept.
Result<uint32_t> add_pattern(ByteAutomaton& bytes, std::string_view pattern, PatternOf of, const std::string& place);

// The expression of a format ("date-time"); empty: it restricts nothing here.
std::string_view pattern_of_format(std::string_view format);

}  // namespace ridge::text
