// Suggestions for a mistyped name: the nearest known names.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ridge {

// Levenshtein distance: least number of inserted, deleted or replaced characters.
size_t edit_distance(std::string_view from, std::string_view to);

// Up to `most` of `names`, nearest first: those that contain `wanted` or that it begins with, and those that are a few
// typing errors away. Case, blanks, '-' and '_' do not count. Empty when nothing is near.
std::vector<std::string> nearest(std::string_view wanted, std::span<const std::string> names, size_t most = 3);
// "; did you mean 'plan'?", or nothing.
std::string did_you_mean(std::string_view wanted, std::span<const std::string> names);

}  // namespace ridge
