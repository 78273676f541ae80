#include "serve/version_policy.h"

#include <algorithm>
#include <string>

namespace ridge::serve {

Result<std::vector<int64_t>> choose_versions(const VersionPolicy& policy, std::vector<int64_t> available) {
  std::sort(available.begin(), available.end());
  if (policy.kind == VersionPolicy::Kind::kSpecific) {
    std::vector<int64_t> chosen = policy.specific;
    std::sort(chosen.begin(), chosen.end());
    chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
    for (int64_t version : chosen)
      if (!std::binary_search(available.begin(), available.end(), version))
        return Error{Code::kNotFound, "version " + std::to_string(version) + " named by version_policy does not exist"};
    available = std::move(chosen);
  } else if (policy.kind == VersionPolicy::Kind::kLatest) {
    auto surplus = static_cast<int64_t>(available.size()) - std::max<int64_t>(policy.latest, 0);
    if (surplus > 0) available.erase(available.begin(), available.begin() + surplus);
  }
  if (available.empty())
    return Error{Code::kNotFound,
                 "at least one version must be available under the version policy of model; version "
                 "directories are named by numbers without a leading zero"};
  return available;
}

}  // namespace ridge::serve
