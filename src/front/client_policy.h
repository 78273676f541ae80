// The clients that may do what is not for everybody: use shared memory, load and unload models. Pure.
//
// Shared memory: the server reads and writes an object of this machine with its own rights; only a process of this
// machine can have created one for that. Models: a client that may load them decides what the server runs.
#pragma once

#include <cstdint>

#include "base/result.h"

namespace ridge::front {

enum class ClientPolicy : uint8_t {
  kNone,
  kThisMachine,  // clients that come over the loopback interface
  kAll,
};

inline bool is_allowed(ClientPolicy policy, bool from_this_machine) {
  return policy == ClientPolicy::kAll || (policy == ClientPolicy::kThisMachine && from_this_machine);
}

// Why not: kUnsupported.
Status check_regions_allowed(ClientPolicy policy, bool from_this_machine);
// Why not: kUnavailable, as of a server that loads nothing on request.
Status check_control_allowed(ClientPolicy policy, bool from_this_machine);

// Checks the settings of log and traces by the same policy. A refusal is kUnavailable, with the reason.
Status check_log_allowed(ClientPolicy policy, bool from_this_machine);

}  // namespace ridge::front
