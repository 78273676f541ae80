// Rows of a table of data/ with units: text, whole numbers and scaled numbers by column name, blank = absent.
//
// For the readers of catalogue/ (catalogue, capabilities, prices). Immutable but for a row's remembered error; one
// thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/csv.h"
#include "base/result.h"

namespace ridge::catalogue {

// One row. A field of the wrong type reads as absent and is remembered: check status() after reading.
class TableRow {
 public:
  TableRow(const Csv& csv, size_t index, std::string_view table) : csv_(csv), index_(index), table_(table) {}

  const std::string& text(std::string_view column) const;
  // The field times `unit`; absent if blank.
  std::optional<double> number(std::string_view column, double unit = 1) const;
  std::optional<int> whole(std::string_view column) const;
  Status status() const { return error_; }

 private:
  std::nullopt_t remember(std::string_view column, std::string_view what) const;

  const Csv& csv_;
  size_t index_;
  std::string_view table_;
  mutable Status error_;  // the first
};

class Table {
 public:
  // Errors: not a table, or without one of `columns`.
  static Result<Table> read(std::string_view csv, std::string_view name, std::span<const std::string_view> columns);
  size_t size() const { return csv_.rows.size(); }
  TableRow row(size_t index) const { return TableRow(csv_, index, name_); }

 private:
  Csv csv_;
  std::string name_;
};

}  // namespace ridge::catalogue
