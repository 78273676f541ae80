#include "explain/pattern.h"

#include <vector>

#include "base/letter_case.h"
#include "explain/plain.h"

namespace ridge::explain {
namespace {

std::vector<std::string> parts_of(std::string_view pattern) {
  std::vector<std::string> parts;
  while (!pattern.empty()) {
    const size_t star = pattern.find('*');
    std::string part = lower_case(message_text(pattern.substr(0, star)));
    while (!part.empty() && part.back() == ' ') part.pop_back();
    if (!part.empty()) parts.push_back(std::move(part));
    pattern.remove_prefix(star == std::string_view::npos ? pattern.size() : star + 1);
  }
  return parts;
}

}  // namespace

std::optional<PatternMatch> find_pattern(std::string_view text, std::string_view pattern) {
  const std::vector<std::string> parts = parts_of(pattern);
  if (parts.empty()) return std::nullopt;
  size_t literal = 0;
  for (const std::string& part : parts) literal += part.size();

  for (size_t from = 0; from < text.size();) {
    const size_t at = text.find(parts.front(), from);
    if (at == std::string_view::npos) return std::nullopt;
    const size_t line_end = std::min(text.find('\n', at), text.size());
    size_t end = at + parts.front().size();
    size_t matched = 1;
    while (matched < parts.size()) {
      const size_t next = text.substr(0, line_end).find(parts[matched], end);
      if (next == std::string_view::npos) break;
      end = next + parts[matched++].size();
    }
    if (matched == parts.size()) return PatternMatch{at, text.substr(at, end - at), literal};
    from = line_end + 1;  // no later start in this line matches more
  }
  return std::nullopt;
}

}  // namespace ridge::explain
