#include "text/python_text.h"

#include <utf8proc.h>

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "text/unicode.h"

namespace ridge::text {
namespace {

utf8proc_category_t category_of(char32_t c) { return utf8proc_category(static_cast<utf8proc_int32_t>(c)); }

void append_upper(std::string& out, char32_t c) {
  if (c == 0xDF)
    out += "SS";
  else
    append_utf8(out, static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(c))));
}

bool all_of_class(std::string_view text, std::initializer_list<utf8proc_category_t> categories) {
  for (size_t at = 0; at < text.size();) {
    const auto category = category_of(next_code_point(text, at));
    if (std::find(categories.begin(), categories.end(), category) == categories.end()) return false;
  }
  return !text.empty();
}

std::vector<std::string> split_words(std::string_view text, int64_t most, Side from) {
  std::vector<std::pair<size_t, size_t>> words;  // begin, end [bytes]
  bool inside = false;
  for (size_t at = 0; at < text.size();) {
    const size_t here = at;
    const bool space = python_space(next_code_point(text, at));
    if (!space && !inside) words.emplace_back(here, here);
    if (!space) words.back().second = at;
    inside = !space;
  }
  const size_t count = words.size(), alone = most < 0 ? count : std::min(count, static_cast<size_t>(most));
  std::vector<std::string> parts;
  const auto add = [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i)
      parts.emplace_back(text.substr(words[i].first, words[i].second - words[i].first));
  };
  // The rest of a limited split is one part, with the white space at its outer end.
  if (from == kLeft) {
    add(0, alone);
    if (alone < count) parts.emplace_back(text.substr(words[alone].first));
  } else {
    if (alone < count) parts.emplace_back(text.substr(0, words[count - alone - 1].second));
    add(count - alone, count);
  }
  return parts;
}

}  // namespace

bool python_space(char32_t c) { return is_white_space(c) || (c >= 0x1C && c <= 0x1F); }

bool has_case(char32_t c) {
  const auto category = category_of(c);
  return category == UTF8PROC_CATEGORY_LU || category == UTF8PROC_CATEGORY_LL || category == UTF8PROC_CATEGORY_LT;
}

std::string stripped(std::string_view text, std::optional<std::string_view> characters, Side side) {
  const auto drops = [&](std::string_view character) {
    size_t at = 0;
    return characters ? characters->find(character) != std::string::npos : python_space(next_code_point(character, at));
  };
  while ((side & kLeft) && !text.empty()) {
    size_t length = 0;
    next_code_point(text, length);
    if (!drops(text.substr(0, length))) break;
    text.remove_prefix(length);
  }
  while ((side & kRight) && !text.empty()) {
    size_t begin = text.size() - 1;
    while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
    if (!drops(text.substr(begin))) break;
    text = text.substr(0, begin);
  }
  return std::string(text);
}

std::string upper_case(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) append_upper(out, next_code_point(text, at));
  return out;
}

std::string lower_case(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) append_lower(out, next_code_point(text, at));
  return out;
}

std::string title_case(std::string_view text, bool (*ends_word)(char32_t)) {
  std::string out;
  bool first = true;
  for (size_t at = 0; at < text.size();) {
    const char32_t c = next_code_point(text, at);
    first ? append_upper(out, c) : append_lower(out, c);
    first = ends_word(c);
  }
  return out;
}

bool is_digits(std::string_view text) { return all_of_class(text, {UTF8PROC_CATEGORY_ND}); }

bool is_letters(std::string_view text) {
  return all_of_class(text, {UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_LL, UTF8PROC_CATEGORY_LT, UTF8PROC_CATEGORY_LM,
                             UTF8PROC_CATEGORY_LO});
}

bool is_letters_or_numbers(std::string_view text) {
  return all_of_class(text, {UTF8PROC_CATEGORY_LU, UTF8PROC_CATEGORY_LL, UTF8PROC_CATEGORY_LT, UTF8PROC_CATEGORY_LM,
                             UTF8PROC_CATEGORY_LO, UTF8PROC_CATEGORY_ND, UTF8PROC_CATEGORY_NL, UTF8PROC_CATEGORY_NO});
}

bool all_in_case(std::string_view text, bool upper) {
  bool any = false;
  for (size_t at = 0; at < text.size();) {
    const char32_t c = next_code_point(text, at);
    const auto category = category_of(c);
    if (category == (upper ? UTF8PROC_CATEGORY_LL : UTF8PROC_CATEGORY_LU) || category == UTF8PROC_CATEGORY_LT)
      return false;
    any = any || has_case(c);
  }
  return any;
}

std::vector<std::string> split_text(std::string_view text, std::optional<std::string_view> separator, int64_t most,
                                    Side from) {
  if (!separator) return split_words(text, most, from);
  std::vector<std::string> parts;
  while (most-- != 0) {
    const size_t found = from == kLeft ? text.find(*separator) : text.rfind(*separator);
    if (found == std::string_view::npos) break;
    const size_t behind = found + separator->size();
    parts.emplace_back(from == kLeft ? text.substr(0, found) : text.substr(behind));
    text = from == kLeft ? text.substr(behind) : text.substr(0, found);
  }
  parts.emplace_back(text);
  if (from == kRight) std::reverse(parts.begin(), parts.end());
  return parts;
}

std::vector<std::string> split_lines(std::string_view text, bool keep_ends) {
  std::vector<std::string> lines;
  size_t begin = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = at;
    const char32_t c = next_code_point(text, at);
    const bool line_ends =
        (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 || c == 0x2029;
    if (!line_ends) continue;
    if (c == '\r' && at < text.size() && text[at] == '\n') ++at;
    lines.emplace_back(text.substr(begin, (keep_ends ? at : end) - begin));
    begin = at;
  }
  if (begin < text.size()) lines.emplace_back(text.substr(begin));
  return lines;
}

std::vector<std::string> split_characters(std::string_view text) {
  std::vector<std::string> characters;
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    next_code_point(text, at);
    characters.emplace_back(text.substr(begin, at - begin));
  }
  return characters;
}

}  // namespace ridge::text
