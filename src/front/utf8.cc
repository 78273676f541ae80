#include "front/utf8.h"

#include <simdjson.h>

#include <algorithm>

namespace ridge::front {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

// Length of the UTF-8 sequence at the start of `text`, 0 if there is none (RFC 3629, section 4).
size_t sequence_length(std::string_view text) {
  auto lead = static_cast<unsigned char>(text[0]);
  size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (length > text.size() || !is_utf8(text.substr(0, length))) return 0;
  return length;
}

}  // namespace

std::string repaired_utf8(std::string_view text) {
  if (is_utf8(text)) return std::string(text);
  std::string result;
  while (!text.empty()) {
    size_t length = sequence_length(text);
    if (length == 0)
      result += kReplacement;
    else
      result += text.substr(0, length);
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return result;
}

bool is_utf8(std::string_view text) { return simdjson::validate_utf8(text.data(), text.size()); }

}  // namespace ridge::front
