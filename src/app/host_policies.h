// --host-policy of ridge serve, as Triton's: NAME,SETTING=VALUE, several of a name together.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "serve/host_policy.h"

namespace ridge::app {

// CPUs and memory nodes of a machine.
struct HostParts {
  std::vector<int> cores;       // that this process may use, ascending
  std::vector<int> numa_nodes;  // ascending; at least 0
};
HostParts host_parts();

// "pair,cpu-cores=0-3,8", "pair,numa-node=1". kInvalid: malformed, set twice, or parts that `host` lacks.
Result<std::vector<serve::HostPolicy>> parse_host_policies(std::span<const std::string> texts,
                                                           const HostParts& host = host_parts());

}  // namespace ridge::app
