// Traffic: how the requests to a model that name no version are shared out over its versions, for a new one to get a
// few of them first.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "serve/service.h"

namespace ridge::serve {

struct Traffic {
  struct Share {
    int64_t version = 0;
    double upto = 0;  // rising, the last 1
  };
  std::vector<Share> shares;  // empty: all to the highest version

  // `turn` counts the requests: of every 1/share of them one goes to a version. All requests of a sequence go to one.
  int64_t version_for(const InferRequest& request, uint64_t turn) const;
};

// "1:95, 2:5": versions and their weights, whole numbers. kInvalid.
Result<Traffic> parse_traffic(const std::string& text);

}  // namespace ridge::serve
