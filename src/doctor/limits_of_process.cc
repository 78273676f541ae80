// The system's limits for this process: open files, processes, locked and shared memory.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "base/proc_text.h"
#include "base/units.h"
#include "doctor/areas.h"

namespace ridge::doctor {
namespace {

constexpr const char* kLimitsArea = "limits";
constexpr int64_t kUnlimited = -1;

struct Limit {
  int64_t soft = 0, hard = 0;  // kUnlimited: none
};

int64_t limit_value(const std::string& word) { return word == "unlimited" ? kUnlimited : to_number(word).value_or(0); }

// "Max open files            1024                 1048576              files"
std::optional<Limit> limit_of(const machine::Tree& tree, const std::string& name) {
  std::istringstream lines(machine::text_at(tree, "proc/self/limits").value_or(""));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(name)) continue;
    std::istringstream words(line.substr(name.size()));
    std::string soft, hard;
    if (words >> soft >> hard) return Limit{limit_value(soft), limit_value(hard)};
  }
  return std::nullopt;
}

std::string count_text(int64_t value) { return value == kUnlimited ? "no limit" : std::to_string(value); }

Finding judge_open_files(const machine::Tree& tree) {
  Finding finding = about(kLimitsArea, "open_files", "open files", "/proc/self/limits");
  std::optional<Limit> limit = limit_of(tree, "Max open files");
  if (!limit) return not_applicable(finding, machine::reason_at(tree, "proc/self/limits"));
  std::string evidence = fmt::format("{}, can be raised to {}", count_text(limit->soft), count_text(limit->hard));
  constexpr int64_t kEnough = 4096;  // one per connection, and the files of models and engines
  if (limit->soft != kUnlimited && limit->soft < kEnough)
    return with_command(
        "ulimit -n 65536",
        warn(finding, evidence,
             "ulimit -n 65536 (LimitNOFILE= in a systemd unit, --ulimit nofile=65536 for a container): every "
             "connection to a server takes one"));
  return ok(finding, evidence);
}

Finding judge_processes(const machine::Tree& tree) {
  Finding finding = about(kLimitsArea, "processes", "processes and threads", "/proc/self/limits, cgroup pids.max");
  std::optional<Limit> limit = limit_of(tree, "Max processes");
  if (!limit) return not_applicable(finding, machine::reason_at(tree, "proc/self/limits"));
  int64_t least = limit->soft;
  for (const std::string& path : machine::paths_like(tree, "sys/fs/cgroup", "/pids.max")) {
    std::optional<int64_t> group = machine::number_at(tree, path);
    if (group && (least == kUnlimited || *group < least)) least = *group;
  }
  constexpr int64_t kEnough = 1024;  // engines start a thread per core and instance
  if (least != kUnlimited && least < kEnough)
    return warn(finding, count_text(least),
                "ulimit -u 65536, or --pids-limit for a container: engines start a thread per core and instance");
  return ok(finding, count_text(least));
}

Finding judge_locked_memory(const machine::Tree& tree) {
  Finding finding = about(kLimitsArea, "locked_memory", "locked memory", "/proc/self/limits");
  std::optional<Limit> limit = limit_of(tree, "Max locked memory");
  if (!limit) return not_applicable(finding, machine::reason_at(tree, "proc/self/limits"));
  std::string evidence = limit->soft == kUnlimited ? "no limit" : format_bytes(static_cast<double>(limit->soft));
  bool rdma = !machine::children(tree, "sys/class/infiniband").empty();
  constexpr int64_t kEnough = int64_t{64} << 20;
  if (rdma && limit->soft != kUnlimited && limit->soft < kEnough)
    return warn(finding, evidence + " with an RDMA device",
                "ulimit -l unlimited (LimitMEMLOCK=infinity, --ulimit memlock=-1): RDMA registers its buffers");
  return ok(finding, evidence);
}

Finding judge_shared_memory(const machine::Tree& tree) {
  Finding finding = about(kLimitsArea, "shared_memory", "/dev/shm", "statvfs");
  if (!tree.files.contains(entry::kFileSystems))
    return not_applicable(finding, machine::reason_at(tree, entry::kFileSystems));
  std::istringstream lines(machine::text_at(tree, entry::kFileSystems).value_or(""));
  std::string path;
  double total = 0, free = 0;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    if (words >> path >> total >> free && path == "/dev/shm") break;
    path.clear();
  }
  if (path.empty()) return warn(finding, "there is none", "mount a tmpfs there (mount -t tmpfs tmpfs /dev/shm)");
  std::string evidence = fmt::format("{}, {} free", format_bytes(total), format_bytes(free));
  constexpr double kEnough = 256.0 * (1 << 20);
  if (free < kEnough)
    return warn(finding, evidence,
                "--shm-size=2g for a container (Kubernetes: an emptyDir of medium Memory at /dev/shm): tensors in "
                "shared memory and data loaders need it");
  return ok(finding, evidence);
}

}  // namespace

Findings judge_limits(const Facts& facts) {
  return {judge_open_files(facts.tree), judge_processes(facts.tree), judge_locked_memory(facts.tree),
          judge_shared_memory(facts.tree)};
}

}  // namespace ridge::doctor
