#include "cli/number_checks.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <functional>
#include <string>
#include <string_view>

namespace ridge::cli {
namespace {

CLI::Validator number_check(const std::string& allowed, const std::function<bool(double)>& fits) {
  return CLI::Validator(
      [=](std::string& text) {
        double value = 0;
        return CLI::detail::lexical_cast(text, value) && std::isfinite(value) && fits(value)
                   ? ""
                   : "expected " + allowed + ", given '" + text + "'";
      },
      "");
}

// All of `text` is a number of this type, in decimal.
template <typename Number>
bool is_number(std::string_view text, Number& value) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

bool is_whole_number(std::string_view text, bool may_be_negative) {
  int64_t value = 0;
  uint64_t large = 0;
  return may_be_negative ? is_number(text, value) : is_number(text, large);
}

bool is_finite_number(std::string_view text) {
  double value = 0;
  return is_number(text, value) && std::isfinite(value);
}

}  // namespace

std::string wrong_values(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    const std::string type = option->get_type_name();
    const bool integer = type.starts_with("INT"), natural = type.starts_with("UINT");
    for (const std::string& value : option->results()) {
      if (value.empty() && option->get_items_expected_max() > 0)
        return option->get_name(option->get_positional()) + " needs a value, given an empty one";
      if ((integer || natural) && !is_whole_number(value, integer))
        return option->get_name() + ": expected a whole number, in decimal, given '" + value + "'";
      if (type.starts_with("FLOAT") && !is_finite_number(value))
        return option->get_name() + ": expected a number, in decimal, given '" + value + "'";
    }
  }
  return "";
}

CLI::Validator positive() {
  return number_check("a number above 0", [](double value) { return value > 0; });
}

CLI::Validator not_negative() {
  return number_check("0 or more", [](double value) { return value >= 0; });
}

CLI::Validator in_range(double least, double most) {
  return number_check(fmt::format("{} to {}", least, most),
                      [=](double value) { return value >= least && value <= most; });
}

CLI::Validator rows() {
  return number_check("1 to 10^9", [](double value) { return value >= 1 && value <= 1e9; });
}

}  // namespace ridge::cli
