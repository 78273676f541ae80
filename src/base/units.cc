#include "base/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace ridge {
namespace {

constexpr std::array<std::pair<Origin, std::string_view>, 4> kOrigins = {{{Origin::kMeasured, "measured"},
                                                                          {Origin::kDatasheet, "datasheet"},
                                                                          {Origin::kDerived, "derived"},
                                                                          {Origin::kAssumed, "assumed"}}};
constexpr std::array<std::pair<Precision, std::string_view>, 9> kPrecisions = {{{Precision::kFp64, "fp64"},
                                                                                {Precision::kFp32, "fp32"},
                                                                                {Precision::kTf32, "tf32"},
                                                                                {Precision::kFp16, "fp16"},
                                                                                {Precision::kFp16Fp32, "fp16_fp32acc"},
                                                                                {Precision::kBf16, "bf16"},
                                                                                {Precision::kFp8, "fp8"},
                                                                                {Precision::kInt8, "int8"},
                                                                                {Precision::kFp4, "fp4"}}};

// Three significant digits, no exponent.
std::string three_digits(double value) {
  const double magnitude = std::fabs(value);
  if (magnitude == 0) return "0";
  // 0.05 % before a power of ten it is rounded up to it.
  const int digits = 2 - static_cast<int>(std::floor(std::log10(magnitude / 0.9995)));
  return fmt::format("{:.{}f}", value, std::clamp(digits, 0, 9));
}

std::string scaled(double value, double step, const std::array<std::string_view, 6>& prefixes, std::string_view unit) {
  if (!std::isfinite(value)) return fmt::format("{} {}", value, unit);
  size_t i = 0;
  while (std::fabs(value) >= step * 0.9995 && i + 1 < prefixes.size()) {
    value /= step;
    ++i;
  }
  std::string number = i == 0 && value == std::floor(value) ? fmt::format("{:.0f}", value) : three_digits(value);
  std::string suffix = std::string(prefixes[i]) + std::string(unit);
  return suffix.empty() ? number : number + " " + suffix;
}

constexpr std::array<std::string_view, 6> kDecimal = {"", "k", "M", "G", "T", "P"};
constexpr std::array<std::string_view, 6> kBinary = {"", "Ki", "Mi", "Gi", "Ti", "Pi"};

}  // namespace

NameTable<Origin> names_of(Origin) { return kOrigins; }
std::string_view origin_name(Origin origin) { return name_of(kOrigins, origin); }
NameTable<Precision> names_of(Precision) { return kPrecisions; }
std::string_view precision_name(Precision precision) { return name_of(kPrecisions, precision); }
Result<Precision> precision_from_name(std::string_view name) {
  return from_name<Precision>(kPrecisions, name, "precision",
                              [](Precision p) { return p != Precision::kFp16Fp32 && p != Precision::kFp4; });
}
Result<Precision> peak_precision_from_name(std::string_view name) {
  return from_name<Precision>(kPrecisions, name, "arithmetic");
}

std::string format_count(double value) { return scaled(value, 1e3, {"", "k", "M", "G", "T", "P"}, ""); }
std::string format_flops(double flops) { return scaled(flops, 1e3, kDecimal, "FLOP"); }
std::string format_flops_rate(double flops_per_s) {
  return flops_per_s == 0 ? "-" : scaled(flops_per_s, 1e3, kDecimal, "FLOP/s");
}
std::string format_bytes(double bytes) { return scaled(bytes, 1024, kBinary, "B"); }
std::string format_bandwidth(double bytes_per_s) {
  return bytes_per_s == 0 ? "-" : scaled(bytes_per_s, 1e3, kDecimal, "B/s");
}
std::string format_hertz(double hertz) { return scaled(hertz, 1e3, kDecimal, "Hz"); }
std::string format_rate(double per_s, std::string_view of) {
  // The prefix stands with the number: "k rows/s", not "krows/s".
  return per_s == 0 ? "-" : fmt::format("{} {}/s", format_count(per_s), of);
}
std::string format_row_rate(double rows_per_s) { return format_rate(rows_per_s, "rows"); }

std::string format_percent(double percent) {
  const double magnitude = std::fabs(percent);
  if (magnitude > 0 && magnitude < 0.01) return "< 0.01 %";
  return fmt::format("{:.{}f} %", percent, magnitude > 0 && magnitude < 0.095 ? 2 : 1);
}

std::string format_energy(double joules) {
  const double magnitude = std::fabs(joules);
  if (magnitude == 0 || magnitude >= 0.9995) return scaled(joules, 1e3, kDecimal, "J");
  return magnitude >= 0.9995e-3 ? three_digits(joules * 1e3) + " mJ" : three_digits(joules * 1e6) + " µJ";
}

std::string format_usd(double usd) {
  if (std::fabs(usd) >= 999.5) return "$" + format_count(usd);
  return std::fabs(usd) >= 0.9995 || usd == 0 ? fmt::format("${:.2f}", usd) : "$" + three_digits(usd);
}

std::string format_ms(double ms) {
  const double magnitude = std::fabs(ms);
  if (magnitude == 0) return "-";
  if (magnitude >= 999.5) return three_digits(ms / 1e3) + " s";
  if (magnitude >= 0.9995) return three_digits(ms) + " ms";
  if (magnitude >= 0.0009995) return three_digits(ms * 1e3) + " µs";
  return magnitude < 1e-6 ? "< 1 ns" : three_digits(ms * 1e6) + " ns";
}

std::string counted(int64_t number, std::string_view thing) {
  return fmt::format("{} {}{}", number, thing, number == 1 ? "" : "s");
}

Result<int64_t> parse_bytes(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, double>, 12> kUnits = {{{"", 1},
                                                                           {"B", 1},
                                                                           {"kB", 1e3},
                                                                           {"KB", 1e3},
                                                                           {"MB", 1e6},
                                                                           {"GB", 1e9},
                                                                           {"TB", 1e12},
                                                                           {"KiB", 1024.0},
                                                                           {"MiB", 1048576.0},
                                                                           {"GiB", 1073741824.0},
                                                                           {"TiB", 1099511627776.0},
                                                                           {"k", 1e3}}};
  double number = 0;
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  if (failure == std::errc() && number >= 0)
    for (const auto& [name, factor] : kUnits)
      if (name == unit && number * factor < 9.2e18) return static_cast<int64_t>(number * factor);
  return Error{Code::kInvalid,
               fmt::format("'{}' is not a size; write a number and a unit, e.g. 64MiB, 1.5GB or 4096", text)};
}

}  // namespace ridge
