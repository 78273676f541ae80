#include "catalogue/table.h"

#include <fmt/format.h>

#include <cassert>
#include <charconv>
#include <cmath>

namespace ridge::catalogue {

std::nullopt_t TableRow::remember(std::string_view column, std::string_view what) const {
  if (error_.ok())
    error_ = Error{Code::kInvalid, fmt::format("table {}, row {}: {} is '{}', expected {}", table_, index_ + 2, column,
                                               text(column), what)};
  return std::nullopt;
}

const std::string& TableRow::text(std::string_view column) const {
  int at = csv_.column(column);
  assert(at >= 0);  // Table::read checked the columns
  return csv_.rows[index_][static_cast<size_t>(at)];
}

std::optional<double> TableRow::number(std::string_view column, double unit) const {
  const std::string& field = text(column);
  if (field.empty()) return std::nullopt;
  double value = 0;
  auto [end, failure] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (failure != std::errc() || end != field.data() + field.size() || !std::isfinite(value))
    return remember(column, "a number or nothing");
  return value * unit;
}

std::optional<int> TableRow::whole(std::string_view column) const {
  const std::string& field = text(column);
  if (field.empty()) return std::nullopt;
  int value = 0;
  auto [end, failure] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (failure != std::errc() || end != field.data() + field.size())
    return remember(column, "a whole number or nothing");
  return value;
}

Result<Table> Table::read(std::string_view csv, std::string_view name, std::span<const std::string_view> columns) {
  Table table;
  table.name_ = name;
  RIDGE_ASSIGN(table.csv_, parse_csv(csv, name));
  for (std::string_view column : columns)
    if (table.csv_.column(column) < 0)
      return Error{Code::kInvalid, fmt::format("table {} has no column '{}'", name, column)};
  return table;
}

}  // namespace ridge::catalogue
