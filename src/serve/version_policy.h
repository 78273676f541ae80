// Which of a model's version directories are served.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"

namespace ridge::serve {

struct VersionPolicy {
  enum class Kind { kLatest, kAll, kSpecific };
  Kind kind = Kind::kLatest;
  int64_t latest = 1;             // kLatest: how many of the highest
  std::vector<int64_t> specific;  // kSpecific
};

// The versions to serve, ascending. kNotFound if there is none, or a specific one is missing.
Result<std::vector<int64_t>> choose_versions(const VersionPolicy& policy, std::vector<int64_t> available);

}  // namespace ridge::serve
