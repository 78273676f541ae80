#include "cli/number_checks.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <string>

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

}  // namespace

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
