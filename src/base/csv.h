// Tables as text: RFC 4180 with a header row, like the files of data/. Read: empty lines are skipped.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace ridge {

struct Csv {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;  // each as long as `columns`

  // Index of a column; -1 when there is none.
  int column(std::string_view name) const;
};

// `name` is what errors call the table. Errors: no header, a quote that does not end, a row of another length (with its
// number; the header is row 1).
Result<Csv> parse_csv(std::string_view text, std::string_view name);

// The form of a field in a row: quoted if it holds a comma, a quote or a line break.
std::string csv_field(std::string_view text);

// Values as a table, from their JSON. `columns`: names with spaces between; each shows the member of its name, or with
// "fast=/run_ms/fast" that at a JSON pointer, empty where it is absent. Numbers have all their digits, lists are words.
std::string csv_table(std::string_view columns, const Json& rows);

}  // namespace ridge
