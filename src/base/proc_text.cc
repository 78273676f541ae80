#include "base/proc_text.h"

#include <algorithm>
#include <charconv>
#include <sstream>

namespace ridge {

std::string_view trim(std::string_view text) {
  size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

std::vector<std::string> split_words(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

std::optional<int64_t> to_number(std::string_view text) {
  text = trim(text);
  int64_t value = 0;
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<std::string> line_value(std::string_view text, std::string_view name, char separator) {
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    size_t split = line.find(separator);
    if (split != std::string_view::npos && trim(line.substr(0, split)) == name)
      return std::string(trim(line.substr(split + 1)));
  }
  return std::nullopt;
}

}  // namespace ridge
