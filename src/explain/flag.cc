#include "explain/flag.h"

#include <algorithm>
#include <cctype>

namespace ridge::explain {
namespace {

size_t indentation(std::string_view line) { return std::min(line.find_first_not_of(' '), line.size()); }

bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-'; }

// The long options that a line begins with: "--threads, -t N   of …" has one, "--a DIR, --b DIR   …" two. Names end where two
// blanks begin the explanation.
std::vector<std::string> names_in(std::string_view line) {
  std::vector<std::string> names;
  line = line.substr(0, line.find("   "));
  for (size_t at = line.find("--"); at != std::string_view::npos; at = line.find("--", at)) {
    size_t end = at;
    while (end < line.size() && is_name(line[end])) ++end;
    if (end > at + 2 && (at == 0 || !is_name(line[at - 1]))) names.emplace_back(line.substr(at, end - at));
    at = end;
  }
  return names;
}

// "--batch N       rows" → "--batch N: rows"
std::string row_text(std::string_view text) {
  const size_t gap = text.find("  ");
  if (gap == std::string_view::npos) return std::string(text);
  return std::string(text.substr(0, gap)) + ": " + std::string(text.substr(text.find_first_not_of(' ', gap)));
}

}  // namespace

std::vector<Flag> flags_in(std::string_view verb, std::string_view help) {
  std::vector<Flag> flags;
  size_t open = 0;         // flags from here on are documented by the lines that follow
  size_t indented_by = 0;  // how far their first line is
  while (!help.empty()) {
    const size_t end = help.find('\n');
    std::string_view line = help.substr(0, end);
    help.remove_prefix(end == std::string_view::npos ? help.size() : end + 1);
    const size_t indent = indentation(line);
    const std::string_view text = line.substr(indent);
    if (text.starts_with('-') && indent > 0) {
      open = flags.size();
      indented_by = indent;
      for (const std::string& name : names_in(text)) flags.push_back({name, std::string(verb), row_text(text)});
    } else if (text.empty() || indent <= indented_by) {
      open = flags.size();
    } else {
      for (size_t i = open; i < flags.size(); ++i) flags[i].text += " " + std::string(text);
    }
  }
  return flags;
}

}  // namespace ridge::explain
