#include "serve/host_policy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <future>
#include <memory>

namespace ridge::serve {
namespace {

Error refused(const HostPolicy& policy, const std::string& what, int error, const char* remedy) {
  return {Code::kFailed, fmt::format("host policy '{}': {}: {}; {}", policy.name, what, std::strerror(error), remedy)};
}

Status keep_to_cores(const HostPolicy& policy) {
  const size_t count = static_cast<size_t>(policy.cores.back()) + 1;
  const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(CPU_ALLOC(count), [](cpu_set_t* s) { CPU_FREE(s); });
  if (!set) throw std::bad_alloc();
  const size_t bytes = CPU_ALLOC_SIZE(count);
  CPU_ZERO_S(bytes, set.get());
  for (const int core : policy.cores) CPU_SET_S(static_cast<size_t>(core), bytes, set.get());
  if (sched_setaffinity(0, bytes, set.get()) == 0) return {};
  return refused(policy, fmt::format("threads cannot be kept on the cores {}", fmt::join(policy.cores, ",")), errno,
                 "give --host-policy cores that this process may use");
}

Status keep_to_node(const HostPolicy& policy) {
  constexpr size_t kBits = 8 * sizeof(unsigned long);  // NOLINT(google-runtime-int): the system call's
  const auto node = static_cast<size_t>(*policy.numa_node);
  std::vector<unsigned long> mask(node / kBits + 1);  // NOLINT(google-runtime-int)
  mask[node / kBits] = 1UL << (node % kBits);
  // The kernel reads one bit less than it is told (set_mempolicy(2), bugs).
  if (syscall(SYS_set_mempolicy, MPOL_BIND, mask.data(), mask.size() * kBits + 1) == 0) return {};
  return refused(policy, fmt::format("memory cannot be bound to NUMA node {}", node), errno,
                 "leave numa-node out; in a container it needs the capability SYS_NICE");
}

}  // namespace

Status keep_to(const HostPolicy& policy) {
  if (!policy.cores.empty()) RIDGE_TRY(keep_to_cores(policy));
  if (policy.numa_node) RIDGE_TRY(keep_to_node(policy));
  return {};
}

Status run_on_host(const HostPolicy& policy, const std::function<Status()>& work) {
  if (policy.cores.empty() && !policy.numa_node) return work();
  return std::async(std::launch::async,
                    [&]() -> Status {
                      RIDGE_TRY(keep_to(policy));
                      return work();
                    })
      .get();
}

}  // namespace ridge::serve
