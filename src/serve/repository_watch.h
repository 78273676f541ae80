// The changes in the repositories between two polls, for the control mode poll. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace ridge::serve {

// Model name → fingerprint of its directory (repository.h).
using RepositoryView = std::map<std::string, std::string>;

struct RepositoryChanges {
  std::vector<std::string> load;    // new, or different from before
  std::vector<std::string> unload;  // gone
};

RepositoryChanges compare_views(const RepositoryView& before, const RepositoryView& now);

}  // namespace ridge::serve
