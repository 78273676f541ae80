#include "explain/flag.h"

#include <algorithm>
#include <cctype>

namespace ridge::explain {
namespace {

size_t indentation(std::string_view line) { return std::min(line.find_first_not_of(' '), line.size()); }

bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-'; }

// The long options in the head of a row: "--threads, -t N" has one, "--a DIR, --b DIR" two.
std::vector<std::string> names_in(std::string_view head) {
  std::vector<std::string> names;
  for (size_t at = head.find("--"); at != std::string_view::npos; at = head.find("--", at)) {
    size_t end = at;
    while (end < head.size() && is_name(head[end])) ++end;
    if (end > at + 2 && (at == 0 || !is_name(head[at - 1]))) names.emplace_back(head.substr(at, end - at));
    at = end;
  }
  return names;
}

// Columns separated by two or more blanks.
std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  while (!line.empty()) {
    const size_t end = std::min(line.find("  "), line.size());
    cells.push_back(line.substr(0, end));
    line.remove_prefix(std::min(line.find_first_not_of(' ', end), line.size()));
  }
  return cells;
}

// The flags of one row, "--batch, -b N   rows of one run"; a row may have several columns of them.
void read_row(std::string_view verb, std::string_view row, std::vector<Flag>& flags) {
  size_t open = flags.size();
  bool text_before = false;
  for (std::string_view cell : cells_of(row)) {
    const bool head = cell.starts_with('-');
    if (head && text_before) open = flags.size();
    if (head)
      for (const std::string& name : names_in(cell)) flags.push_back({name, std::string(verb), std::string(cell)});
    else
      for (size_t i = open; i < flags.size(); ++i) flags[i].text += (text_before ? " " : ": ") + std::string(cell);
    text_before = !head;
  }
}

}  // namespace

std::vector<Flag> flags_in(std::string_view verb, std::string_view help) {
  std::vector<Flag> flags;
  size_t open = 0;         // flags from here on are documented by the following lines
  size_t indented_by = 0;  // position of their first line
  while (!help.empty()) {
    const size_t end = help.find('\n');
    std::string_view line = help.substr(0, end);
    help.remove_prefix(end == std::string_view::npos ? help.size() : end + 1);
    const size_t indent = indentation(line);
    const std::string_view text = line.substr(indent);
    if (text.starts_with('-') && indent > 0) {
      open = flags.size();
      indented_by = indent;
      read_row(verb, text, flags);
    } else if (text.empty() || indent <= indented_by) {
      open = flags.size();
    } else {
      for (size_t i = open; i < flags.size(); ++i) flags[i].text += " " + std::string(text);
    }
  }
  return flags;
}

}  // namespace ridge::explain
