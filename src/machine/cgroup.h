// The CPU time and memory that the control groups around this process allow (containers, systemd units, batch
// systems). Groups nest: every group on the path limits what is below it, so the smallest limit counts.
// Sources: Linux Documentation/admin-guide/cgroup-v2.rst (cpu.max, memory.max), scheduler/sched-bwc.rst (v1 quota),
// cgroup-v1/memory.rst, proc(5) for /proc/self/cgroup and mountinfo.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ridge::machine {

struct CgroupLimits {
  std::optional<double> cpus;  // may be a fraction: 0.5 is half of one; absent = no limit
  std::optional<int64_t> memory_bytes;
};

// Reads `root`/proc/self and the cgroup file systems it names. A system without control groups has no limits; a file
// that cannot be parsed counts as no limit, with one warning in the log.
CgroupLimits cgroup_limits(const std::string& root);

// The folders, without `root`, that show the group of this process and those above it, innermost first, for a
// controller ("cpu", "memory", "pids"); where its usage and events can be read. Empty without control groups.
std::vector<std::string> cgroup_folders(const std::string& root, const std::string& controller);

// cpu.max: "50000 100000" → 0.5, "max 100000" → absent. `readable`: whether the text could be parsed.
std::optional<double> parse_cpu_max(std::string_view text, bool& readable);
// cpu.cfs_quota_us and cpu.cfs_period_us: "-1" → absent.
std::optional<double> parse_cfs_quota(std::string_view quota_us, std::string_view period_us, bool& readable);
// memory.max or memory.limit_in_bytes: "max" and v1's value near 2^63 → absent.
std::optional<int64_t> parse_memory_limit(std::string_view text, bool& readable);

}  // namespace ridge::machine
