#include "cli/own_colours.h"

#include <fmt/format.h>

#include <random>

namespace ridge::cli {
namespace {

constexpr std::string_view kBegin = "\x1b[";

// Its digits are a parameter of the SGR sequence, so that texts are measured as if it were not there.
const std::string& mark() {
  static const std::string drawn = [] {
    std::random_device random;
    return fmt::format("9{:010}{:010};", random(), random());
  }();
  return drawn;
}

// Length in bytes of a colour of ours at the beginning of `text`; 0: there is none.
size_t own_colour(std::string_view text) {
  if (!text.starts_with(kBegin) || !text.substr(kBegin.size()).starts_with(mark())) return 0;
  const size_t end = text.find_first_not_of("0123456789;", kBegin.size());
  return end != std::string_view::npos && text[end] == 'm' ? end + 1 : 0;
}

}  // namespace

std::string coloured(std::string_view code, std::string_view text) {
  return fmt::format("{0}{1}{2}m{3}{0}{1}0m", kBegin, mark(), code, text);
}

std::string without_controls(std::string_view text, LineEnds ends) {
  std::string clean;
  clean.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const size_t colour = c == 0x1b ? own_colour(text.substr(i)) : 0;
    if (colour > 0) {
      clean += text.substr(i, colour);
      i += colour - 1;
    } else if (c == '\n') {
      clean += ends == LineEnds::kKept ? "\n" : "\\n";
    } else if (c == '\t' || (c >= 0x20 && c != 0x7f)) {
      clean += text[i];
    } else {
      clean += fmt::format("\\x{:02x}", c);
    }
  }
  return clean;
}

std::string for_terminal(std::string text) {
  const std::string marked = std::string(kBegin) + mark();
  for (size_t at = text.find(marked); at != std::string::npos; at = text.find(marked, at))
    text.replace(at, marked.size(), kBegin);
  return text;
}

}  // namespace ridge::cli
