#include "cli/steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>

#include "base/read_number.h"

namespace ridge::cli {
namespace {

constexpr size_t kMostSteps = 64;
constexpr int64_t kMostTokens = 10'000'000;  // of a prompt, of an answer

std::optional<double> positive_number(std::string_view text) {
  const std::string copy(text);
  char* end = nullptr;
  const double value = std::strtod(copy.c_str(), &end);
  if (copy.empty() || end != copy.c_str() + copy.size() || !std::isfinite(value) || value <= 0) return std::nullopt;
  return value;
}

// One element of the list; false: it is not understood, or the series is too long.
bool append_series(std::string_view text, std::vector<double>& values) {
  const size_t dots = text.find("..");
  if (dots == text.npos) {
    const std::optional<double> value = positive_number(text);
    if (value) values.push_back(*value);
    return value.has_value();
  }
  const size_t colon = std::min(text.find(':', dots), text.size());
  const bool by_steps = colon < text.size();
  const double from = positive_number(text.substr(0, dots)).value_or(0);
  const double to = positive_number(text.substr(dots + 2, colon - dots - 2)).value_or(0);
  const double step = by_steps ? positive_number(text.substr(colon + 1)).value_or(0) : 0;
  if (from <= 0 || to < from || (by_steps && step <= 0)) return false;
  // By multiplication, not by adding up: 0.1 three times is not 0.3.
  const auto value_at = [&](double index) { return by_steps ? from + index * step : from * std::exp2(index); };
  constexpr double kRounding = 1 + 1e-9;
  for (double i = 0; value_at(i) <= to * kRounding; ++i) {
    values.push_back(value_at(i));
    if (values.size() > kMostSteps) return false;
  }
  if (values.back() < to / kRounding) values.push_back(to);
  return true;
}

}  // namespace

Result<std::vector<double>> parse_steps(const char* option, std::string_view text) {
  std::vector<double> values;
  std::string_view rest = text;
  while (true) {
    const size_t comma = std::min(rest.find(','), rest.size());
    if (!append_series(rest.substr(0, comma), values) || values.size() > kMostSteps)
      return invalid(
          fmt::format("{}: expected a number above 0, A..B (doubling) or A..B:STEP, at most {} values, given '{}'",
                      option, kMostSteps, text));
    if (comma == rest.size()) return values;
    rest.remove_prefix(comma + 1);
  }
}

Result<std::vector<int>> parse_whole_steps(const char* option, std::string_view text) {
  RIDGE_ASSIGN(const std::vector<double> values, parse_steps(option, text));
  std::vector<int> whole;
  for (double value : values) {
    if (value != std::floor(value) || value > std::numeric_limits<int>::max())
      return invalid(fmt::format("{}: expected whole numbers, given '{}'", option, text));
    whole.push_back(static_cast<int>(value));
  }
  return whole;
}

Result<client::TokenRange> parse_token_range(const char* option, std::string_view text) {
  const size_t dots = text.find("..");
  client::TokenRange range;
  const bool good = read_number(text.substr(0, dots), range.low) &&
                    read_number(dots == text.npos ? text : text.substr(dots + 2), range.high);
  if (!good || range.low < 1 || range.high < range.low || range.high > kMostTokens)
    return invalid(fmt::format("{} {}: give a number of tokens, or a range of them: 128..1024; at most {}", option,
                               text, kMostTokens));
  return range;
}

}  // namespace ridge::cli
