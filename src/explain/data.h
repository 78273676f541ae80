// The texts of data/explain/ and the table of error codes, embedded at build. Immutable.
#pragma once

#include <string_view>

namespace ridge::explain {

// The text of data/explain/en/<name>.*, data/explain/zh/<name>.*, data/explain/<name>.csv and data/<name>.csv;
// empty when there is none. How they are written: data/explain/README.md.
std::string_view english(std::string_view name);
std::string_view chinese(std::string_view name);
std::string_view tables(std::string_view name);
std::string_view catalogue(std::string_view name);

}  // namespace ridge::explain
