// HostPolicy: on which CPUs, and with which NUMA node's memory, the instances of a group run (`instance_group {
// host_policy }` and Triton's --host-policy). Threads inherit both from the thread that starts them, so an engine whose
// threads belong to one session keeps to them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace ridge::serve {

struct HostPolicy {
  std::string name;              // empty: an instance without a policy
  std::vector<int> cores;        // logical CPUs, ascending; empty: any
  std::optional<int> numa_node;  // whose memory it takes; none: any
};

// The calling thread, and those that it starts later, keep to the policy. kFailed: the system refuses it.
Status keep_to(const HostPolicy& policy);
// Runs `work` on a thread of its own that keeps to the policy; without cores and node on the caller's.
Status run_on_host(const HostPolicy& policy, const std::function<Status()>& work);

}  // namespace ridge::serve
