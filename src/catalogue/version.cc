#include "catalogue/version.h"

#include <algorithm>
#include <cctype>

#include "base/proc_text.h"

namespace ridge::catalogue {
namespace {

// `version` cut to as many parts as `to` has.
Version cut(const Version& version, const Version& to) {
  Version shorter = version;
  shorter.parts.resize(std::min(version.parts.size(), to.parts.size()));
  return shorter;
}

bool fits_one(const Version& version, std::string_view pattern) {
  size_t dash = pattern.find('-');
  std::optional<Version> low = parse_version(pattern.substr(0, dash));
  std::optional<Version> high = dash == std::string_view::npos ? low : parse_version(trim(pattern.substr(dash + 1)));
  if (!low || !high) return false;
  return cut(version, *low) >= *low && cut(version, *high) <= *high;
}

template <typename Predicate>
bool any_of_list(std::string_view pattern, Predicate&& predicate) {
  while (!pattern.empty()) {
    size_t comma = std::min(pattern.find(','), pattern.size());
    if (predicate(trim(pattern.substr(0, comma)))) return true;
    pattern.remove_prefix(std::min(comma + 1, pattern.size()));
  }
  return false;
}

}  // namespace

std::strong_ordering Version::operator<=>(const Version& other) const {
  for (size_t i = 0; i < std::max(parts.size(), other.parts.size()); ++i)
    if (auto order = part(i) <=> other.part(i); order != 0) return order;
  return std::strong_ordering::equal;
}

std::optional<Version> parse_version(std::string_view text) {
  Version version;
  int number = -1;
  for (char c : text) {
    if (std::isdigit(static_cast<unsigned char>(c))) {
      number = std::min(1000000, (number < 0 ? 0 : number) * 10 + (c - '0'));
    } else if (c == '.' && number >= 0) {
      version.parts.push_back(number);
      number = -1;
    } else {
      break;
    }
  }
  if (number >= 0) version.parts.push_back(number);
  if (version.parts.empty()) return std::nullopt;
  version.text = text.substr(0, std::min(text.find_first_not_of("0123456789."), text.size()));
  while (version.text.ends_with('.')) version.text.pop_back();
  return version;
}

bool fits(const Version& version, std::string_view pattern) {
  return any_of_list(pattern, [&](std::string_view one) { return fits_one(version, one); });
}

bool fits_major(const Version& version, std::string_view pattern) {
  return any_of_list(pattern, [&](std::string_view one) {
    std::optional<Version> listed = parse_version(one);
    return listed && listed->part(0) == version.part(0);
  });
}

}  // namespace ridge::catalogue
