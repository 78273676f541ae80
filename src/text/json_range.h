// Numbers within bounds → states of the byte automaton. Decimal digits are compared, nothing is rounded. Numbers have
// no exponent here, and no more digits after the point than a double keeps apart (15 with those before it): who reads
// them as doubles finds them within the bounds, too. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "text/json_program.h"

namespace ridge::text {

struct Decimal {
  bool negative = false;
  std::string whole = "0";  // no needless zeros
  std::string fraction;     // no zeros at its end
  bool is_zero() const { return whole == "0" && fraction.empty(); }
};
struct NumberBound {
  Decimal value;
  bool inclusive = true;
};
// Absent: not a number, or with more digits after the point than JsonLexer::kFractionDigits.
std::optional<Decimal> decimal_of(const Json& number);

bool is_less(const Decimal& a, const Decimal& b);
// The least multiple of both, which are above zero; empty: too large to be counted by.
std::optional<Decimal> common_multiple(const Decimal& a, const Decimal& b);

struct NumberForm {
  bool negative = false;  // a minus stands before it
  uint32_t state = 0;
};
// The forms of numbers within bounds, one per sign and count of whole digits; empty if no number fits. `step`, if
// any, divides them, and they
// have no more digits than a double keeps apart; without `fraction` none are after a point.
std::vector<NumberForm> add_number_range(ByteAutomaton& bytes, const std::optional<NumberBound>& low,
                                         const std::optional<NumberBound>& high, bool fraction,
                                         const std::optional<Decimal>& step);

}  // namespace ridge::text
