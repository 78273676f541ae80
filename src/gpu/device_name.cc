#include "gpu/device_name.h"

#include <fmt/format.h>

#include <charconv>

namespace ridge::gpu {

std::optional<DeviceName> parse_device_name(std::string_view name) {
  const size_t colon = name.find(':');
  DeviceName result{name.substr(0, colon)};
  if (result.family.empty()) return std::nullopt;
  if (colon == std::string_view::npos) return result;
  const char* begin = name.data() + colon + 1;
  const char* end = name.data() + name.size();
  auto [stop, error] = std::from_chars(begin, end, result.index);
  if (begin == end || error != std::errc() || stop != end) return std::nullopt;
  return result;
}

Status check_device_index(size_t index, size_t count, std::string_view kind) {
  if (index < count) return {};
  return Error{Code::kNotFound,
               fmt::format("there is no {} device {}; there {} {}", kind, index, count == 1 ? "is" : "are", count)};
}

}  // namespace ridge::gpu
