#include "cli/figure_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/schema.h"
#include "base/units.h"
#include "cli/document_schemas.h"
#include "cli/terminal.h"

namespace ridge::cli {
namespace {

// 0: not known.
std::string limit_share(double percent) { return percent > 0 ? format_percent(percent) : "-"; }
std::string intensity_text(double intensity) { return fmt::format("{:.1f} FLOP/byte", intensity); }
std::string ratio_text(double ratio) { return ratio > 0 ? fmt::format("{:.4g}×", ratio) : "-"; }

struct UnitText {
  std::string_view unit;
  std::string (*text)(double);
};
constexpr UnitText kUnitTexts[] = {{"ms", format_ms},
                                   {"s", [](double seconds) { return format_ms(1e3 * seconds); }},
                                   {"/s", format_count},
                                   {"tokens/s", format_count},
                                   {"requests/s", format_count},
                                   {"starts/s", [](double rate) { return format_rate(rate, "starts"); }},
                                   {"rows/s", format_row_rate},
                                   {"rows/J", format_count},
                                   {"rows/USD", format_count},
                                   {"FLOP", format_flops},
                                   {"FLOP/s", format_flops_rate},
                                   {"FLOP/byte", intensity_text},
                                   {"B", format_bytes},
                                   {"B/s", format_bandwidth},
                                   {"Hz", format_hertz},
                                   {"MHz", [](double megahertz) { return fmt::format("{:.0f} MHz", megahertz); }},
                                   {"%", format_percent},
                                   {"% of the limit", limit_share},
                                   {"share", [](double share) { return format_percent(100 * share); }},
                                   {"×", ratio_text},
                                   {"°C", [](double celsius) { return fmt::format("{:.0f} °C", celsius); }},
                                   {"W", [](double watts) { return fmt::format("{:.4g} W", watts); }},
                                   {"mW", [](double milliwatts) { return fmt::format("{:.4g} W", milliwatts / 1000); }},
                                   {"J", format_energy},
                                   {"USD", format_usd},
                                   {"CPUs", [](double cpus) { return fmt::format("{:.2f}", cpus); }}};

bool shows_nothing(const Json& value) { return value.is_number() && value.get<double>() == 0; }
std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

std::string text_in_unit(const Json& value, std::string_view unit) {
  if (value.is_object()) {
    std::string low = text_in_unit(value.value("low", Json()), unit);
    const std::string high = text_in_unit(value.value("high", Json()), unit);
    if (low.empty() || low == high) return low;
    if (high.empty()) return "≥ " + low;
    const size_t space = std::min(high.rfind(' '), high.size());  // "12 to 13 ms"
    if (low.ends_with(high.substr(space))) low.resize(low.size() - (high.size() - space));
    return low + " to " + high;
  }
  if (value.is_array()) {
    std::vector<std::string> texts;
    for (const Json& each : value) texts.push_back(text_in_unit(each, unit));
    return fmt::format("{}", fmt::join(texts, ", "));
  }
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_string()) return first_line(value.get<std::string>());
  if (!value.is_number()) return "";
  const auto* known = std::ranges::find(kUnitTexts, unit, &UnitText::unit);
  if (known != std::end(kUnitTexts)) return known->text(value.get<double>());
  const double number = value.get<double>();
  return number == std::trunc(number) ? fmt::format("{:.0f}", number) : fmt::format("{:.3g}", number);
}

std::string figure_table(std::string_view kind, const char* member, const Json& rows,
                         const std::set<std::string>& left_out, const OwnColumns& own) {
  return figure_table(element_of(kind, member), rows, left_out, own);
}

std::string figure_table(const Json& schema, const Json& rows, const std::set<std::string>& left_out,
                         const OwnColumns& own) {
  std::vector<OwnColumn> columns = own.first;
  for (const Column& column : ridge::columns_of(schema)) {
    const Json::json_pointer at(column.member);
    if (left_out.contains(column.member)) continue;
    OwnColumn shown{column.label, {}, "r"};
    bool any = false;
    for (const Json& row : rows) {
      const Json value = row.contains(at) ? row.at(at) : Json();
      const bool is_point = !column.range_of.empty() && value.is_object() && value["low"] == value["high"];
      std::string text = is_point ? "" : text_in_unit(value, column.unit);
      any = any || !(text.empty() || shows_nothing(value));
      if (value.is_string() || value.is_array()) shown.layout = "l";
      shown.cells.push_back(std::move(text));
    }
    if (!any) continue;
    if (column.leaves == Figure::kBelow) shown.layout = "n";
    if (column.leaves > 0) shown.layout += std::to_string(column.leaves);
    columns.push_back(std::move(shown));
  }
  for (const OwnColumn& column : own.last)
    if (!std::ranges::all_of(column.cells, &std::string::empty)) columns.push_back(column);
  std::ranges::stable_partition(columns, [](const OwnColumn& column) { return column.layout != "n"; });
  std::vector<std::string> head;
  std::string layout;
  std::vector<std::vector<std::string>> lines(rows.size());
  for (const OwnColumn& column : columns) {
    head.push_back(column.label);
    layout += column.layout;
    const bool may_be_empty = column.label.empty() || column.layout == "n";
    for (size_t i = 0; i < rows.size(); ++i)
      lines[i].push_back(column.cells[i].empty() && !may_be_empty ? "-" : column.cells[i]);
  }
  return table(head, lines, layout);
}

}  // namespace ridge::cli
