#include "cli/figure_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/schema.h"
#include "base/units.h"
#include "cli/document_schemas.h"
#include "cli/terminal.h"

namespace ridge::cli {
namespace {

struct UnitText {
  std::string_view unit;
  std::string (*text)(double);
};
constexpr UnitText kUnitTexts[] = {{"ms", format_ms},
                                   {"/s", format_count},
                                   {"tokens/s", format_count},
                                   {"requests/s", format_count},
                                   {"%", format_percent},
                                   {"B", format_bytes},
                                   {"CPUs", [](double cpus) { return fmt::format("{:.2f}", cpus); }}};

bool shows_nothing(const Json& value) { return value.is_null() || (value.is_number() && value.get<double>() == 0); }

}  // namespace

std::string text_in_unit(const Json& value, std::string_view unit) {
  if (value.is_object()) {
    const std::string low = text_in_unit(value.value("low", Json()), unit);
    const std::string high = text_in_unit(value.value("high", Json()), unit);
    if (low.empty()) return "";
    return high.empty() ? "≥ " + low : low + " to " + high;
  }
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_number()) return "";
  const auto* known = std::ranges::find(kUnitTexts, unit, &UnitText::unit);
  if (known != std::end(kUnitTexts)) return known->text(value.get<double>());
  return value.is_number_integer() ? value.dump() : fmt::format("{:.3g}", value.get<double>());
}

std::string figure_table(std::string_view kind, const char* member, const Json& rows,
                         const std::set<std::string>& left_out) {
  return figure_table(element_of(kind, member), rows, left_out);
}

std::string figure_table(const Json& schema, const Json& rows, const std::set<std::string>& left_out) {
  std::vector<std::string> head;
  std::string layout;  // cli/table.h
  std::vector<std::vector<std::string>> lines(rows.size());
  for (const Column& column : ridge::columns_of(schema)) {
    const Json::json_pointer at(column.member);
    const auto value_in = [&](const Json& row) { return row.contains(at) ? row.at(at) : Json(); };
    const auto none = [&](const Json& row) {
      return shows_nothing(value_in(row)) || text_in_unit(value_in(row), column.unit).empty();
    };
    if (left_out.contains(column.member) || std::ranges::all_of(rows, none)) continue;
    head.push_back(column.label);
    layout += std::ranges::any_of(rows, [&](const Json& row) { return value_in(row).is_string(); }) ? 'l' : 'r';
    for (size_t i = 0; i < rows.size(); ++i) {
      std::string text = text_in_unit(value_in(rows[i]), column.unit);
      lines[i].push_back(text.empty() ? "-" : std::move(text));
    }
  }
  return table(head, lines, layout);
}

}  // namespace ridge::cli
