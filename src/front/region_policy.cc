#include "front/region_policy.h"

namespace ridge::front {

Status check_regions_allowed(RegionPolicy policy, bool from_this_machine) {
  if (may_use_regions(policy, from_this_machine)) return {};
  if (policy == RegionPolicy::kNone)
    return Error{Code::kUnsupported,
                 "Client shared memory is disabled: the server was started with --allow-client-shm=false"};
  return Error{Code::kUnsupported,
               "shared memory is for clients on the server's machine that connect to localhost; "
               "--allow-client-shm=true allows it to all"};
}

}  // namespace ridge::front
