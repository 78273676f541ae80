#include "text/json_range.h"

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <tuple>

namespace ridge::text {
namespace {

constexpr uint64_t kMostStep = 500;  // without its point: states are as many for each digit

// Magnitudes with a given number of whole digits, between two bounds.
class DigitRange {
 public:
  // `step`: of the digits without their point, once there are `fraction_digits` after it.
  DigitRange(ByteAutomaton& bytes, NumberBound low, NumberBound high, int whole_digits, int fraction_digits,
             uint32_t step)
      : bytes_(bytes),
        low_(std::move(low)),
        high_(std::move(high)),
        whole_(whole_digits),
        fraction_(fraction_digits),
        step_(step) {}

  std::optional<uint32_t> begin() { return state_at({0, false, true, true, 0}); }

 private:
  // Digits so far, whether the point has come, whether they are those of the bounds.
  struct Position {
    int digits = 0;
    bool point = false, at_low = false, at_high = false;
    uint32_t remainder = 0;
    auto operator<=>(const Position&) const = default;
  };

  char digit_of(const Decimal& decimal, int index) const {
    if (index < whole_) return decimal.whole[index];
    const size_t at = index - whole_;
    return at < decimal.fraction.size() ? decimal.fraction[at] : '0';
  }
  bool rest_is_zero(const Decimal& decimal, int index) const {
    const int all = whole_ + static_cast<int>(decimal.fraction.size());
    for (; index < all; ++index)
      if (digit_of(decimal, index) != '0') return false;
    return true;
  }
  bool accepts(const Position& at) const {
    if (at.digits < whole_ || (at.point && at.digits == whole_)) return false;
    uint64_t remainder = at.remainder;
    for (int digits = at.digits; digits < whole_ + fraction_ && step_ > 1; ++digits) remainder = remainder * 10 % step_;
    if (remainder != 0) return false;
    if (at.at_low && !(low_.inclusive && rest_is_zero(low_.value, at.digits))) return false;
    return !at.at_high || high_.inclusive || !rest_is_zero(high_.value, at.digits);
  }

  // Absent: no number of the range comes from there.
  std::optional<uint32_t> state_at(const Position& at) {
    if (const auto known = states_.find(at); known != states_.end()) return known->second;
    std::vector<ByteAutomaton::Edge> edges;
    const auto add = [&](char byte, const Position& to) {
      if (const auto state = state_at(to)) edges.push_back({static_cast<uint8_t>(byte), *state});
    };
    if (at.digits == whole_ && !at.point) {
      if (fraction_ > 0) add('.', {at.digits, true, at.at_low, at.at_high, at.remainder});
    } else if (at.digits < whole_ + fraction_) {
      const char from = at.at_low ? digit_of(low_.value, at.digits) : '0',
                 to = at.at_high ? digit_of(high_.value, at.digits) : '9';
      for (char digit = from; digit <= to; ++digit)
        add(digit, {at.digits + 1, at.point, at.at_low && digit == from, at.at_high && digit == to,
                    (at.remainder * 10 + static_cast<uint32_t>(digit - '0')) % step_});
    }
    std::optional<uint32_t> state;
    if (accepts(at) || !edges.empty()) {
      state = bytes_.add_state(accepts(at));
      for (const ByteAutomaton::Edge& edge : edges) bytes_.add_edge(edge.byte, edge.target);
    }
    states_.emplace(at, state);
    return state;
  }

  ByteAutomaton& bytes_;
  NumberBound low_, high_;
  int whole_, fraction_;
  uint32_t step_;
  std::map<Position, std::optional<uint32_t>> states_;
};

bool is_below(const Decimal& a, const Decimal& b) {  // magnitudes
  return std::tuple(a.whole.size(), a.whole, a.fraction) < std::tuple(b.whole.size(), b.whole, b.fraction);
}

Decimal nines(int whole_digits) {
  return {.whole = std::string(whole_digits, '9'), .fraction = std::string(JsonLexer::kFractionDigits, '9')};
}

// A number as digits without a point, and the number of them behind it.
struct Scaled {
  uint64_t digits = 0;
  int fraction = 0;
};
Scaled scaled(const Decimal& decimal, size_t fraction_digits) {
  std::string fraction = decimal.fraction;
  fraction.resize(fraction_digits, '0');
  const std::string digits = decimal.whole + fraction;
  return {digits.size() > 18 ? 0 : std::stoull(digits), static_cast<int>(fraction_digits)};
}

void add_magnitudes(ByteAutomaton& bytes, const NumberBound& low, NumberBound high, bool negative, bool fraction,
                    const std::optional<Scaled>& step, std::vector<NumberForm>& forms) {
  if (high.value.whole.size() > JsonLexer::kWholeDigits) high = {nines(JsonLexer::kWholeDigits)};
  if (is_below(high.value, low.value)) return;
  for (size_t digits = low.value.whole.size(); digits <= high.value.whole.size(); ++digits) {
    const int count = static_cast<int>(digits);
    const NumberBound from = digits == low.value.whole.size()
                                 ? low
                                 : NumberBound{{.whole = "1" + std::string(digits - 1, '0'), .fraction = ""}};
    const NumberBound to = digits == high.value.whole.size() ? high : NumberBound{nines(count)};
    const int most_digits = fraction ? std::max(0, std::numeric_limits<double>::digits10 - count) : 0;
    const int fraction_digits = step ? step->fraction : most_digits;
    if (fraction_digits > most_digits || (step && count > std::numeric_limits<double>::digits10)) return;
    if (const auto state =
            DigitRange(bytes, from, to, count, fraction_digits, step ? static_cast<uint32_t>(step->digits) : 1).begin())
      forms.push_back({negative, *state});
  }
}

}  // namespace

std::optional<Decimal> decimal_of(const Json& number) {
  if (!number.is_number()) return std::nullopt;
  std::string text = number.dump();
  int exponent = 0;
  if (const size_t at = text.find('e'); at != std::string::npos) {
    exponent = std::stoi(text.substr(at + 1));
    text.resize(at);
  }
  Decimal decimal;
  decimal.negative = text[0] == '-';
  if (decimal.negative) text.erase(0, 1);
  const size_t point = std::min(text.find('.'), text.size());
  std::string digits = text.substr(0, point) + text.substr(std::min(point + 1, text.size()));
  int whole = static_cast<int>(point) + exponent;
  if (whole < 0) {
    digits.insert(0, -whole, '0');
    whole = 0;
  }
  if (whole > static_cast<int>(digits.size())) digits.append(whole - digits.size(), '0');
  decimal.whole = digits.substr(0, whole);
  decimal.fraction = digits.substr(whole);
  decimal.whole.erase(0, std::min(decimal.whole.find_first_not_of('0'), decimal.whole.size()));
  if (decimal.whole.empty()) decimal.whole = "0";
  decimal.fraction.erase(decimal.fraction.find_last_not_of('0') + 1);
  if (decimal.is_zero()) decimal.negative = false;
  if (decimal.fraction.size() > JsonLexer::kFractionDigits) return std::nullopt;
  return decimal;
}

bool is_less(const Decimal& a, const Decimal& b) {
  if (a.negative != b.negative) return a.negative;
  return a.negative ? is_below(b, a) : is_below(a, b);
}

std::optional<Decimal> common_multiple(const Decimal& a, const Decimal& b) {
  const size_t fraction_digits = std::max(a.fraction.size(), b.fraction.size());
  const Scaled first = scaled(a, fraction_digits), second = scaled(b, fraction_digits);
  if (first.digits == 0 || second.digits == 0) return std::nullopt;
  const uint64_t factor = first.digits / std::gcd(first.digits, second.digits);
  if (factor > kMostStep * 2000 || second.digits > kMostStep * 2000) return std::nullopt;
  std::string digits = std::to_string(factor * second.digits);
  if (digits.size() <= fraction_digits) digits.insert(0, fraction_digits + 1 - digits.size(), '0');
  Decimal multiple{.whole = digits.substr(0, digits.size() - fraction_digits),
                   .fraction = digits.substr(digits.size() - fraction_digits)};
  multiple.fraction.erase(multiple.fraction.find_last_not_of('0') + 1);
  return scaled(multiple, multiple.fraction.size()).digits > kMostStep ? std::nullopt : std::optional(multiple);
}

std::vector<NumberForm> add_number_range(ByteAutomaton& bytes, const std::optional<NumberBound>& low,
                                         const std::optional<NumberBound>& high, bool fraction,
                                         const std::optional<Decimal>& step) {
  std::vector<NumberForm> forms;
  std::optional<Scaled> every;
  if (step) every = scaled(*step, step->fraction.size());
  const NumberBound most{nines(JsonLexer::kWholeDigits)}, zero{};
  // Magnitudes below zero run the other way; −0 is not a form.
  if (!low || low->value.negative)
    add_magnitudes(bytes, high && high->value.negative ? *high : NumberBound{{}, false}, low ? *low : most, true,
                   fraction, every, forms);
  if (!high || !high->value.negative)
    add_magnitudes(bytes, low && !low->value.negative ? *low : zero, high ? *high : most, false, fraction, every,
                   forms);
  return forms;
}

}  // namespace ridge::text
