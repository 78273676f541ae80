// A document's list as a table: the list of a value's fields says which figures are columns, their headings and units
// (base/figure.h).
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"

namespace ridge::cli {

// A column that several figures make together, beside those of the list; `layout`: its letter and digit (cli/table.h).
struct OwnColumn {
  std::string label;
  std::vector<std::string> cells = {};
  std::string layout = "l";
};
struct OwnColumns {
  std::vector<OwnColumn> first = {}, last = {};
};
// The text of each of these values.
OwnColumn own_column(std::string label, const auto& rows, const auto& text_of, std::string layout = "l") {
  OwnColumn column{std::move(label), {}, std::move(layout)};
  for (const auto& row : rows) column.cells.push_back(text_of(row));
  return column;
}

// `rows`: the list `member` of a document of this kind (cli/document_schemas.h). Leaves out the columns `left_out`
// ("/throughput_per_s"), and those that no row has, or that are 0 in all. Of a text with several lines the first is
// shown.
std::string figure_table(std::string_view kind, const char* member, const Json& rows,
                         const std::set<std::string>& left_out = {}, const OwnColumns& own = {});
// The same of values with this schema.
std::string figure_table(const Json& schema, const Json& rows, const std::set<std::string>& left_out = {},
                         const OwnColumns& own = {});
// A value as people read it: "12.3 ms" of "ms"; an interval as "12 ms to 13 ms"; a list with commas. "": null.
std::string text_in_unit(const Json& value, std::string_view unit);

}  // namespace ridge::cli
