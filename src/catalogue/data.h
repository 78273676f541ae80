// The tables of data/: devices, versions, prices, each row with its source; embedded at build. Immutable.
#pragma once

#include <string_view>

namespace ridge::catalogue {

// The text of data/<name>.csv; empty when there is none. Read it with parse_csv (base/csv.h).
std::string_view data(std::string_view name);

}  // namespace ridge::catalogue
