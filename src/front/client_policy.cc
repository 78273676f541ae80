#include "front/client_policy.h"

namespace ridge::front {

Status check_regions_allowed(ClientPolicy policy, bool from_this_machine) {
  if (is_allowed(policy, from_this_machine)) return {};
  if (policy == ClientPolicy::kNone)
    return Error{Code::kUnsupported,
                 "Client shared memory is disabled: the server was started with --allow-client-shm=false"};
  return Error{Code::kUnsupported,
               "shared memory is for clients on the server's machine that connect to localhost; "
               "--allow-client-shm=true allows it to all"};
}

Status check_control_allowed(ClientPolicy policy, bool from_this_machine) {
  if (is_allowed(policy, from_this_machine)) return {};
  if (policy == ClientPolicy::kNone)
    return Error{
        Code::kUnavailable,
        "explicit model load / unload is not allowed: the server was started with --allow-model-control=false"};
  return Error{Code::kUnavailable,
               "explicit model load / unload is not allowed from other machines; clients on the server's machine that "
               "connect to localhost may do it, and --allow-model-control=true allows it to all"};
}

Status check_log_allowed(ClientPolicy policy, bool from_this_machine) {
  if (is_allowed(policy, from_this_machine)) return {};
  return Error{Code::kUnavailable,
               "log and traces are set by clients that may load models (--allow-model-control): by default those on "
               "the server's "
               "machine that connect to localhost"};
}

}  // namespace ridge::front
