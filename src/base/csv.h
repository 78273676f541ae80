// Tables as text: RFC 4180 with a header row, like the files of data/. Empty lines are skipped.
#pragma once

#include <string>
#include <string_view>
#include <vector>

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

}  // namespace ridge
