// The clients allowed to use shared memory. The server reads and writes an object of this machine for the client, with the
// server's rights; only a process of this machine can have created one for that purpose. Pure.
#pragma once

#include <cstdint>

#include "base/result.h"

namespace ridge::front {

enum class RegionPolicy : uint8_t {
  kNone,
  kThisMachine,  // clients that come over the loopback interface
  kAll,
};

inline bool may_use_regions(RegionPolicy policy, bool from_this_machine) {
  return policy == RegionPolicy::kAll || (policy == RegionPolicy::kThisMachine && from_this_machine);
}

// Why not: kUnsupported.
Status check_regions_allowed(RegionPolicy policy, bool from_this_machine);

}  // namespace ridge::front
