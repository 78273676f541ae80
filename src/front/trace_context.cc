#include "front/trace_context.h"

#include <algorithm>

namespace ridge::front {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";

bool is_hexadecimal(std::string_view text) { return text.find_first_not_of(kDigits) == std::string_view::npos; }
bool is_zero(std::string_view text) { return text.find_first_not_of('0') == std::string_view::npos; }

}  // namespace

std::optional<TraceContext> parse_traceparent(std::string_view field) {
  constexpr size_t kLength = 55;
  if (field.size() < kLength || field[2] != '-' || field[35] != '-' || field[52] != '-') return std::nullopt;
  const std::string_view version = field.substr(0, 2), trace = field.substr(3, 32), span = field.substr(36, 16),
                         flags = field.substr(53, 2);
  // Later versions may have more behind the flags.
  if (version == "ff" || (field.size() > kLength && (version == "00" || field[kLength] != '-'))) return std::nullopt;
  if (!is_hexadecimal(version) || !is_hexadecimal(trace) || !is_hexadecimal(span) || !is_hexadecimal(flags))
    return std::nullopt;
  if (is_zero(trace) || is_zero(span)) return std::nullopt;
  return TraceContext{std::string(trace), std::string(span), kDigits.find(flags[1]) % 2 == 1};
}

}  // namespace ridge::front
