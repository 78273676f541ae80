#include "text/json_range.h"

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

namespace ridge::text {
namespace {

// Magnitudes of so many whole digits between two bounds.
class DigitRange {
 public:
  DigitRange(ByteAutomaton& bytes, NumberBound low, NumberBound high, int whole_digits, int fraction_digits)
      : bytes_(bytes), low_(std::move(low)), high_(std::move(high)), whole_(whole_digits), fraction_(fraction_digits) {}

  std::optional<uint32_t> begin() { return state_at({0, false, true, true}); }

 private:
  // Digits so far, whether the point has come, whether they are those of the bounds.
  struct Position {
    int digits = 0;
    bool point = false, at_low = false, at_high = false;
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
      if (fraction_ > 0) add('.', {at.digits, true, at.at_low, at.at_high});
    } else if (at.digits < whole_ + fraction_) {
      const char from = at.at_low ? digit_of(low_.value, at.digits) : '0',
                 to = at.at_high ? digit_of(high_.value, at.digits) : '9';
      for (char digit = from; digit <= to; ++digit)
        add(digit, {at.digits + 1, at.point, at.at_low && digit == from, at.at_high && digit == to});
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
  std::map<Position, std::optional<uint32_t>> states_;
};

bool is_below(const Decimal& a, const Decimal& b) {  // magnitudes
  return std::tuple(a.whole.size(), a.whole, a.fraction) < std::tuple(b.whole.size(), b.whole, b.fraction);
}

Decimal nines(int whole_digits) {
  return {.whole = std::string(whole_digits, '9'), .fraction = std::string(JsonLexer::kFractionDigits, '9')};
}

void add_magnitudes(ByteAutomaton& bytes, const NumberBound& low, NumberBound high, bool negative, bool fraction,
                    std::vector<NumberForm>& forms) {
  if (high.value.whole.size() > JsonLexer::kWholeDigits) high = {nines(JsonLexer::kWholeDigits)};
  if (is_below(high.value, low.value)) return;
  for (size_t digits = low.value.whole.size(); digits <= high.value.whole.size(); ++digits) {
    const int count = static_cast<int>(digits);
    const NumberBound from = digits == low.value.whole.size()
                                 ? low
                                 : NumberBound{{.whole = "1" + std::string(digits - 1, '0'), .fraction = ""}};
    const NumberBound to = digits == high.value.whole.size() ? high : NumberBound{nines(count)};
    const int fraction_digits = fraction ? std::max(0, std::numeric_limits<double>::digits10 - count) : 0;
    if (const auto state = DigitRange(bytes, from, to, count, fraction_digits).begin())
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

std::vector<NumberForm> add_number_range(ByteAutomaton& bytes, const std::optional<NumberBound>& low,
                                         const std::optional<NumberBound>& high, bool fraction) {
  std::vector<NumberForm> forms;
  const NumberBound most{nines(JsonLexer::kWholeDigits)}, zero{};
  // Below zero magnitudes run the other way; −0 is no form.
  if (!low || low->value.negative)
    add_magnitudes(bytes, high && high->value.negative ? *high : NumberBound{{}, false}, low ? *low : most, true,
                   fraction, forms);
  if (!high || !high->value.negative)
    add_magnitudes(bytes, low && !low->value.negative ? *low : zero, high ? *high : most, false, fraction, forms);
  return forms;
}

}  // namespace ridge::text
