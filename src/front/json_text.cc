#include "front/json_text.h"

#include <array>
#include <cassert>
#include <charconv>
#include <cmath>

#include "text/unicode.h"

namespace ridge::front {
namespace {

void append_escaped(std::string& text, char c) {
  constexpr std::string_view kHex = "0123456789abcdef";
  switch (c) {
    case '"': text += "\\\""; break;
    case '\\': text += "\\\\"; break;
    case '\n': text += "\\n"; break;
    case '\r': text += "\\r"; break;
    case '\t': text += "\\t"; break;
    default:
      text += "\\u00";
      text += kHex[static_cast<unsigned char>(c) >> 4];
      text += kHex[static_cast<unsigned char>(c) & 15];
  }
}

bool needs_escape(char c) { return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\'; }

void append_quoted(std::string& text, std::string_view value) {
  text += '"';
  size_t copied = 0;
  for (size_t i = 0; i < value.size(); ++i) {
    if (!needs_escape(value[i])) continue;
    text.append(value, copied, i - copied);
    append_escaped(text, value[i]);
    copied = i + 1;
  }
  text.append(value, copied);
  text += '"';
}

template <typename T>
void append_chars(std::string& text, T value) {
  std::array<char, 40> digits;
  text.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr);
}

template <typename T>
void append_fraction(std::string& text, T value) {
  assert(std::isfinite(value));
  std::array<char, 40> digits;
  char* end = std::to_chars(digits.data(), digits.data() + digits.size() - 2, value).ptr;
  std::string_view written(digits.data(), static_cast<size_t>(end - digits.data()));
  text += written;
  if (written.find_first_of(".e") == std::string_view::npos) text += ".0";
}

}  // namespace

void append_json_string(std::string& text, std::string_view value) {
  if (text::is_utf8(value))
    append_quoted(text, value);
  else
    append_quoted(text, text::to_utf8(value));
}

void append_json_integer(std::string& text, int64_t value) { append_chars(text, value); }
void append_json_integer(std::string& text, uint64_t value) { append_chars(text, value); }
void append_json_number(std::string& text, float value) { append_fraction(text, value); }
void append_json_number(std::string& text, double value) { append_fraction(text, value); }

}  // namespace ridge::front
