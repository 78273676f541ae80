// Version numbers of drivers and libraries, and the patterns of them that the tables of data/ use.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ridge::catalogue {

// "550.54.14" → {550, 54, 14}. Compared number by number; missing ones are 0.
struct Version {
  std::vector<int> parts;
  std::string text;  // as it was written: drivers count 535.129.03

  std::strong_ordering operator<=>(const Version& other) const;
  bool operator==(const Version& other) const { return (*this <=> other) == 0; }
  int part(size_t i) const { return i < parts.size() ? parts[i] : 0; }
};

// The digits and points that `text` begins with: "12.4.1-runtime" → 12.4.1; nullopt if it begins with none.
std::optional<Version> parse_version(std::string_view text);
inline const std::string& version_text(const Version& version) { return version.text; }

// True if `version` is one that `pattern` lists: "12.0-12.9", "11.8", "12.x", "12, 13", "11.8, 10.2". A listed version
// covers all with the same leading numbers; a range includes both ends in this sense.
bool fits(const Version& version, std::string_view pattern);
// True if it lists any version with the same first number.
bool fits_major(const Version& version, std::string_view pattern);

}  // namespace ridge::catalogue
