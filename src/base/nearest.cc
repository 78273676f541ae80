#include "base/nearest.h"

#include <algorithm>
#include <cctype>
#include <numeric>

namespace ridge {
namespace {

std::string plain(std::string_view name) {
  std::string result;
  for (char c : name)
    if (c != ' ' && c != '-' && c != '_') result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

// One row of the table per character of `from`; `row` starts as the cost of skipping the start of `to`.
void align(std::string_view from, std::string_view to, std::vector<size_t>& row) {
  for (size_t i = 0; i < from.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < to.size(); ++j) {
      size_t above = row[j + 1];
      row[j + 1] = std::min({above + 1, row[j] + 1, diagonal + (from[i] == to[j] ? 0 : 1)});
      diagonal = above;
    }
  }
}

// Distance to the most similar part of `to`.
size_t distance_to_part(std::string_view from, std::string_view to) {
  std::vector<size_t> row(to.size() + 1, 0);
  align(from, to, row);
  return *std::min_element(row.begin(), row.end());
}

constexpr size_t kLeastForPrefix = 4;
constexpr size_t kLeastForParts = 5;  // shorter words are similar to a part of nearly everything

}  // namespace

size_t edit_distance(std::string_view from, std::string_view to) {
  std::vector<size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  align(from, to, row);
  return row.back();
}

std::vector<std::string> nearest(std::string_view wanted, std::span<const std::string> names, size_t most) {
  struct Candidate {
    size_t distance;
    const std::string* name;
  };
  const std::string mine = plain(wanted);
  const size_t tolerance = std::max<size_t>(1, mine.size() / 3);
  std::vector<Candidate> candidates;
  for (const std::string& name : names) {
    const std::string other = plain(name);
    const bool contains = !mine.empty() && (other.find(mine) != std::string::npos ||
                                            (other.size() >= kLeastForPrefix && mine.starts_with(other)));
    const size_t distance = contains                       ? 0
                            : mine.size() < kLeastForParts ? edit_distance(mine, other)
                                                           : distance_to_part(mine, other);
    if (distance <= tolerance) candidates.push_back({distance, &name});
  }
  std::stable_sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return a.distance != b.distance
               ? a.distance < b.distance
               : a.distance == 0 && a.name->size() < b.name->size();  // the shortest that contains it
  });
  std::vector<std::string> result;
  for (const Candidate& candidate : candidates)
    if (result.size() < most) result.push_back(*candidate.name);
  return result;
}

std::string did_you_mean(std::string_view wanted, std::span<const std::string> names) {
  std::vector<std::string> near = nearest(wanted, names);
  for (const std::string& name : names)  // two letters exchanged
    if (near.empty() && name.size() >= kLeastForPrefix && edit_distance(wanted, name) <= 2) near.push_back(name);
  std::string text;
  for (const std::string& name : near) text += (text.empty() ? "; did you mean '" : "' or '") + name;
  return near.empty() ? text : text + "'?";
}

}  // namespace ridge
