#include "front/error_text.h"

#include "front/utf8.h"

namespace ridge::front {

std::string error_text(std::string_view message, size_t longest) {
  return message.empty() ? "unknown error" : repaired_utf8(message.substr(0, longest));
}

}  // namespace ridge::front
