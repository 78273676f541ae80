#include "app/host_policies.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/file.h"
#include "base/read_number.h"
#include "machine/topology.h"

namespace ridge::app {
namespace {

using machine::format_cpu_list;

Error wrong(const std::string& text, const std::string& why) {
  return invalid(fmt::format("--host-policy {}: {}", text, why));
}

Status set_cores(const std::string& text, const std::string& value, const HostParts& host, serve::HostPolicy& policy) {
  const Result<std::vector<int>> cores = machine::parse_cpu_list(value);
  if (!cores || cores->empty()) return wrong(text, "expected cores as 0-3 or 0-3,8");
  if (!policy.cores.empty()) return wrong(text, fmt::format("'{}' has cpu-cores already", policy.name));
  std::vector<int> missing;
  std::ranges::set_difference(*cores, host.cores, std::back_inserter(missing));
  if (!missing.empty())
    return wrong(text, fmt::format("this process may not use the cores {}, only {}", format_cpu_list(missing),
                                   format_cpu_list(host.cores)));
  policy.cores = *cores;
  return {};
}

Status set_node(const std::string& text, const std::string& value, const HostParts& host, serve::HostPolicy& policy) {
  int node = 0;
  if (!read_number(value, node)) return wrong(text, "expected a NUMA node's number");
  if (policy.numa_node) return wrong(text, fmt::format("'{}' has a numa-node already", policy.name));
  if (!std::ranges::binary_search(host.numa_nodes, node))
    return wrong(text,
                 fmt::format("this machine has no NUMA node {}, only {}", node, format_cpu_list(host.numa_nodes)));
  policy.numa_node = node;
  return {};
}

}  // namespace

HostParts host_parts() {
  HostParts parts;
  const std::set<int> cores = machine::affinity("");
  parts.cores.assign(cores.begin(), cores.end());
  if (const auto text = read_file("/sys/devices/system/node/online"))
    if (const auto nodes = machine::parse_cpu_list(*text)) parts.numa_nodes = *nodes;
  if (parts.numa_nodes.empty()) parts.numa_nodes = {0};
  return parts;
}

Result<std::vector<serve::HostPolicy>> parse_host_policies(std::span<const std::string> texts, const HostParts& host) {
  std::vector<serve::HostPolicy> policies;
  for (const std::string& text : texts) {
    const size_t comma = text.find(','), equals = text.find('=', comma == std::string::npos ? text.size() : comma);
    if (comma == 0 || comma == std::string::npos || equals == std::string::npos)
      return wrong(text, "expected NAME,cpu-cores=0-3 or NAME,numa-node=0");
    const std::string name = text.substr(0, comma), setting = text.substr(comma + 1, equals - comma - 1);
    auto policy = std::ranges::find(policies, name, &serve::HostPolicy::name);
    if (policy == policies.end()) policy = policies.insert(policy, {.name = name, .cores = {}, .numa_node = {}});
    const std::string value = text.substr(equals + 1);
    if (setting == "cpu-cores")
      RIDGE_TRY(set_cores(text, value, host, *policy));
    else if (setting == "numa-node")
      RIDGE_TRY(set_node(text, value, host, *policy));
    else
      return wrong(text, fmt::format("there is no setting '{}'; there are cpu-cores and numa-node", setting));
  }
  return policies;
}

}  // namespace ridge::app
