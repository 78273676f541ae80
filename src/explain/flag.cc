#include "explain/flag.h"

#include <algorithm>
#include <cctype>
#include <map>

namespace ridge::explain {
namespace {

bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-'; }

// The long options in the head of an item: "--threads, -t N" has one, "--a DIR, --b DIR" two.
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

// The first lines that are neither title nor empty.
std::string first_paragraph(std::string_view help) {
  std::string text;
  while (!help.empty()) {
    const size_t end = std::min(help.find('\n'), help.size());
    const std::string_view line = help.substr(0, end);
    help.remove_prefix(std::min(end + 1, help.size()));
    if (line.empty() && !text.empty()) break;
    if (line.empty() || line.starts_with('#')) continue;
    text += (text.empty() ? "" : " ") + std::string(line);
  }
  std::erase(text, '`');
  return text;
}

}  // namespace

std::vector<Flag> flags_in(std::string_view verb, std::string_view help) {
  constexpr std::string_view kItem = "- `-";
  constexpr size_t kMark = 3;  // [bytes] of it before the option
  std::vector<Flag> flags;
  if (!help.empty()) flags.push_back({"", std::string(verb), first_paragraph(help)});
  size_t open = 1;  // flags from here on are documented by the following lines
  while (!help.empty()) {
    const size_t end = std::min(help.find('\n'), help.size());
    std::string text(help.substr(0, end));
    help.remove_prefix(std::min(end + 1, help.size()));
    const std::string_view head = std::string_view(text).substr(0, text.find("`:"));
    std::vector<std::string> names = text.starts_with(kItem) ? names_in(head) : std::vector<std::string>();
    const bool continues = names.empty() && text.starts_with("  ");
    std::erase(text, '`');
    if (!continues) open = flags.size();
    for (std::string& name : names) flags.push_back({std::move(name), std::string(verb), text.substr(kMark - 1)});
    for (size_t i = open; continues && i < flags.size(); ++i) flags[i].text += text.substr(1);
  }
  return flags;
}

void add_chinese(std::string_view lines, std::vector<Flag>& flags) {
  std::map<std::string_view, std::string_view> texts;
  while (!lines.empty()) {
    const size_t end = std::min(lines.find('\n'), lines.size());
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(std::min(end + 1, lines.size()));
    const size_t colon = line.find(": ");
    if (!line.starts_with('#') && colon != std::string_view::npos)
      texts[line.substr(0, colon)] = line.substr(colon + 2);
  }
  for (Flag& flag : flags) {
    auto found = texts.find(flag.verb + " " + flag.name);
    if (found == texts.end()) found = texts.find(flag.name);
    if (found != texts.end()) flag.chinese = flag.name + "：" + std::string(found->second);
  }
}

}  // namespace ridge::explain
