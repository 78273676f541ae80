#include "explain/error_code.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <span>

#include "base/csv.h"

namespace ridge::explain {
namespace {

constexpr std::string_view kLabelOnly = " (catalog wording)";

// A table whose columns are found once, in the requested order.
struct Columns {
  Csv csv;
  std::vector<size_t> at;
};

Result<Columns> read(std::string_view text, std::string_view name, std::span<const std::string_view> wanted) {
  Columns table;
  RIDGE_ASSIGN(table.csv, parse_csv(text, name));
  for (std::string_view column : wanted) {
    const int found = table.csv.column(column);
    if (found < 0) return Error{Code::kInvalid, fmt::format("table {}: there is no column '{}'", name, column)};
    table.at.push_back(static_cast<size_t>(found));
  }
  return table;
}

Result<int> number_of(const std::string& text, std::string_view table) {
  int number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size())
    return Error{Code::kInvalid, fmt::format("table {}: '{}' is not the number of a code", table, text)};
  return number;
}

Result<std::vector<ErrorCode>> read_codes(std::string_view text) {
  constexpr std::string_view kColumns[] = {"domain",       "code",         "name",  "alias",
                                           "likely_cause", "first_action", "class", "source"};
  RIDGE_ASSIGN(Columns table, read(text, "error_codes", kColumns));
  std::vector<ErrorCode> codes;
  for (const std::vector<std::string>& row : table.csv.rows) {
    auto cell = [&](size_t i) { return row[table.at[i]]; };
    if (std::find(kCodeFamilies.begin(), kCodeFamilies.end(), cell(0)) == kCodeFamilies.end()) continue;
    ErrorCode code;
    code.family = cell(0);
    RIDGE_ASSIGN(code.number, number_of(cell(1), "error_codes"));
    code.name = cell(2);
    code.alias = cell(3);
    code.kind = cell(6);
    std::string cause = cell(4);
    code.only_label = cause.ends_with(kLabelOnly);
    if (code.only_label) cause.resize(cause.size() - kLabelOnly.size());
    code.wording[0] = {cause, cell(5)};
    code.source = cell(7);
    codes.push_back(std::move(code));
  }
  return codes;
}

Result<ErrorCode*> find(std::vector<ErrorCode>& codes, const std::string& family, const std::string& text,
                        std::string_view table) {
  RIDGE_ASSIGN(int number, number_of(text, table));
  for (ErrorCode& code : codes)
    if (code.family == family && code.number == number) return &code;
  return Error{Code::kInvalid, fmt::format("table {}: there is no code {} {}", table, family, text)};
}

}  // namespace

Result<std::vector<ErrorCode>> parse_codes(const CodeTables& tables) {
  RIDGE_ASSIGN(std::vector<ErrorCode> codes, read_codes(tables.codes));
  constexpr std::string_view kChinese[] = {"domain", "code", "cause", "action"};
  RIDGE_ASSIGN(Columns chinese, read(tables.chinese, "zh/codes", kChinese));
  for (const std::vector<std::string>& row : chinese.csv.rows) {
    RIDGE_ASSIGN(ErrorCode * code, find(codes, row[chinese.at[0]], row[chinese.at[1]], "zh/codes"));
    code->wording[1] = {row[chinese.at[2]], row[chinese.at[3]]};
  }
  constexpr std::string_view kTexts[] = {"domain", "code", "text"};
  RIDGE_ASSIGN(Columns texts, read(tables.texts, "code_texts", kTexts));
  for (const std::vector<std::string>& row : texts.csv.rows) {
    RIDGE_ASSIGN(ErrorCode * code, find(codes, row[texts.at[0]], row[texts.at[1]], "code_texts"));
    code->texts.push_back(row[texts.at[2]]);
  }
  return codes;
}

}  // namespace ridge::explain
