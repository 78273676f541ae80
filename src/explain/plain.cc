#include "explain/plain.h"

#include <cctype>
#include <cstdint>

namespace ridge::explain {
namespace {

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

// Typographic characters that editors and chat programs substitute for ASCII.
struct Typographic {
  std::string_view utf8;
  char ascii;
};
constexpr Typographic kTypographic[] = {{"‘", '\''}, {"’", '\''}, {"“", '"'}, {"”", '"'}, {"–", '-'},
                                        {"—", '-'},  {"‑", '-'},  {" ", ' '}, {"　", ' '}};

// The ASCII equivalent of the text's first character, and its length in bytes; length 0: none.
struct AsciiForm {
  char ascii = 0;
  size_t length = 0;
};

AsciiForm folded(std::string_view text) {
  if (static_cast<unsigned char>(text.front()) < 0xE2) {  // U+00A0 has two bytes, the others three from 0xE2 on
    return text.starts_with("\xC2\xA0") ? AsciiForm{' ', 2} : AsciiForm{};
  }
  for (const Typographic& each : kTypographic)
    if (text.starts_with(each.utf8)) return {each.ascii, each.utf8.size()};
  // U+FF01 … U+FF5E are EF BC 81 … EF BD 9E.
  if (text.size() < 3 || static_cast<unsigned char>(text[0]) != 0xEF) return {};
  const auto second = static_cast<unsigned char>(text[1]);
  const auto third = static_cast<unsigned char>(text[2]);
  if (second != 0xBC && second != 0xBD) return {};
  const int offset = (second - 0xBC) * 0x40 + (third - 0x80);
  if (offset < 1 || offset > 0x5E) return {};
  return {static_cast<char>(0x20 + offset), 3};
}

// Length of a terminal's control sequence (ESC [ … letter) at the start of the text; 0: none.
size_t control_sequence(std::string_view text) {
  if (!text.starts_with("\x1b[")) return 0;
  size_t end = 2;
  while (end < text.size() && end < 16 && (std::isdigit(static_cast<unsigned char>(text[end])) || text[end] == ';'))
    ++end;
  return end < text.size() ? end + 1 : end;
}

}  // namespace

std::string plain(std::string_view name) {
  std::string result;
  while (!name.empty()) {
    const AsciiForm other = folded(name);
    const char c = other.length > 0 ? other.ascii : name.front();
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80 || std::isalnum(byte) != 0 || c == '+' || c == '#' || c == '%') result += lower(c);
    name.remove_prefix(other.length > 0 ? other.length : 1);
  }
  return result;
}

std::string message_text(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    if (const size_t skip = control_sequence(text); skip > 0) {
      text.remove_prefix(skip);
      continue;
    }
    const AsciiForm other = folded(text);
    const char c = other.length > 0 ? other.ascii : text.front();
    text.remove_prefix(other.length > 0 ? other.length : 1);
    const bool blank = c == ' ' || c == 0x7F || (c >= 0 && c < ' ' && c != '\n');
    if (!blank) {
      result += c;
    } else if (!result.empty() && result.back() != ' ' && result.back() != '\n') {
      result += ' ';
    }
  }
  return result;
}

}  // namespace ridge::explain
