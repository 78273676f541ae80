#include "engine/parameter.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace ridge::engine {

const Parameter* find_parameter(std::span<const Parameter> table, std::string_view key) {
  auto found = std::find_if(table.begin(), table.end(), [&](const Parameter& row) { return row.key == key; });
  return found == table.end() ? nullptr : &*found;
}

Status wrong_value(const std::string& value, std::string_view expected) {
  return Error{Code::kInvalid, fmt::format("'{}' is not {}", value, expected)};
}

Status read_threads(const std::string& value, int& threads) {
  int number = 0;
  auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size() || number < 0 || number > 4096)
    return wrong_value(value, "a number of threads between 0 (the engine's default) and 4096");
  threads = number;
  return {};
}

}  // namespace ridge::engine
