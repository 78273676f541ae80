#include "front/error_text.h"

#include "text/unicode.h"

namespace ridge::front {

std::string error_text(std::string_view message, size_t longest) {
  if (message.empty()) return "unknown error";
  std::string text = text::to_utf8(message.substr(0, longest));
  if (text.size() <= longest) return text;
  while ((static_cast<unsigned char>(text[longest]) & 0xC0) == 0x80) --longest;  // not within a character
  text.resize(longest);
  return text;
}

}  // namespace ridge::front
