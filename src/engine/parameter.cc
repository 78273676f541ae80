#include "engine/parameter.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace ridge::engine {

const Parameter* find_parameter(std::span<const Parameter> table, std::string_view key) {
  auto found = std::find_if(table.begin(), table.end(), [&](const Parameter& row) { return row.key == key; });
  return found == table.end() ? nullptr : &*found;
}

bool is_on(const std::map<std::string, std::string>& options, const std::string& key, bool otherwise) {
  const auto found = options.find(key);
  if (found == options.end()) return otherwise;
  return found->second != "0" && found->second != "false" && found->second != "False";
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

Status read_flag(const std::string& value, bool& flag) {
  if (value != "0" && value != "1" && value != "true" && value != "false" && value != "on" && value != "off")
    return wrong_value(value, "one of 0, 1, true, false, on, off");
  flag = value == "1" || value == "true" || value == "on";
  return {};
}

Status read_spin(const std::string& value, plan::Spin& spin) {
  if (value == "default") return spin = plan::Spin::kDefault, ok_status();
  bool on = false;
  RIDGE_TRY(read_flag(value, on));
  spin = on ? plan::Spin::kOn : plan::Spin::kOff;
  return {};
}

}  // namespace ridge::engine
