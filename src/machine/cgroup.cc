#include "machine/cgroup.h"

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <vector>

#include "base/file.h"
#include "base/log.h"
#include "base/proc_text.h"

namespace ridge::machine {
namespace {

// Location of a controller's files: `mount` is the folder that shows the group `mounted_group`.
struct ControllerMount {
  std::string mount;
  std::string mounted_group;
  std::string group;  // of this process
  bool v2 = false;
};

bool list_has(std::string_view list, std::string_view wanted) {
  while (!list.empty()) {
    size_t comma = std::min(list.find(','), list.size());
    if (list.substr(0, comma) == wanted) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

// The group of this process: for "" in the v2 hierarchy, else in the v1 hierarchy of that controller.
std::optional<std::string> own_group(const std::string& cgroup_file, std::string_view controller) {
  std::istringstream lines(cgroup_file);
  for (std::string line; std::getline(lines, line);) {
    size_t first = line.find(':');
    size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::string_view controllers = std::string_view(line).substr(first + 1, second - first - 1);
    bool v2 = line.starts_with("0:") && controllers.empty();
    if (controller.empty() ? v2 : list_has(controllers, controller)) return line.substr(second + 1);
  }
  return std::nullopt;
}

// The mount of the v2 hierarchy for "", else of the v1 hierarchy with that controller.
bool find_mount(const std::string& mountinfo, std::string_view controller, ControllerMount& place) {
  std::istringstream lines(mountinfo);
  for (std::string line; std::getline(lines, line);) {
    size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    std::string id, parent, device, root, point;
    std::istringstream(line) >> id >> parent >> device >> root >> point;
    std::string type, source, options;
    std::istringstream(line.substr(dash + 3)) >> type >> source >> options;
    bool wanted = controller.empty() ? type == "cgroup2" : type == "cgroup" && list_has(options, controller);
    if (!wanted) continue;
    place.mount = point;
    place.mounted_group = root;
    return true;
  }
  return false;
}

// Folders of this process's group and its ancestors visible in the mount, innermost first.
std::vector<std::string> folders(const std::string& root, const ControllerMount& place) {
  std::string below = place.group;
  // A container often mounts its own group as the top: "/docker/1f" at /sys/fs/cgroup shows "/docker/1f/x" as "/x".
  if (place.mounted_group != "/" && below.starts_with(place.mounted_group)) below.erase(0, place.mounted_group.size());
  // A group outside the mount ("/../x") or hidden by it leaves the mount's own.
  std::error_code failure;
  if (below.find("..") != std::string::npos || !std::filesystem::is_directory(root + place.mount + below, failure))
    below = "";
  std::vector<std::string> result;
  while (!below.empty() && below != "/") {
    result.push_back(root + place.mount + below);
    below.erase(below.rfind('/'));
  }
  result.push_back(root + place.mount);
  return result;
}

template <typename T>
void keep_smallest(std::optional<T>& smallest, std::optional<T> candidate) {
  if (candidate && (!smallest || *candidate < *smallest)) smallest = candidate;
}

// A controller's location: its own v1 hierarchy, or the common v2 one.
std::vector<ControllerMount> places(const std::string& cgroup_file, const std::string& mountinfo,
                                    std::string_view controller) {
  std::vector<ControllerMount> found;
  for (std::string_view wanted : {controller, std::string_view()}) {
    ControllerMount place;
    place.v2 = wanted.empty();
    std::optional<std::string> group = own_group(cgroup_file, wanted);
    if (!group || !find_mount(mountinfo, wanted, place)) continue;
    place.group = *group;
    found.push_back(std::move(place));
  }
  return found;
}

void warn(const std::string& file, std::string_view text) {
  log::warning("{}: cannot parse '{}', treated as no limit", file, trim(text).substr(0, 60));
}

std::optional<double> cpus_of(const std::string& folder, bool v2) {
  bool readable = true;
  std::string file = folder + (v2 ? "/cpu.max" : "/cpu.cfs_quota_us");
  Result<std::string> text = read_file(file);
  if (!text) return std::nullopt;  // the top group has no such file
  std::optional<double> limit;
  if (v2) {
    limit = parse_cpu_max(*text, readable);
  } else {
    Result<std::string> period = read_file(folder + "/cpu.cfs_period_us");
    limit = parse_cfs_quota(*text, period ? *period : "100000", readable);
  }
  if (!readable) warn(file, *text);
  return limit;
}

std::optional<int64_t> memory_of(const std::string& folder, bool v2) {
  bool readable = true;
  std::string file = folder + (v2 ? "/memory.max" : "/memory.limit_in_bytes");
  Result<std::string> text = read_file(file);
  if (!text) return std::nullopt;
  std::optional<int64_t> limit = parse_memory_limit(*text, readable);
  if (!readable) warn(file, *text);
  return limit;
}

}  // namespace

CgroupLimits cgroup_limits(const std::string& root) {
  CgroupLimits limits;
  Result<std::string> groups = read_file(root + "/proc/self/cgroup");
  Result<std::string> mounts = read_file(root + "/proc/self/mountinfo");
  if (!groups || !mounts) return limits;
  for (const ControllerMount& place : places(*groups, *mounts, "cpu"))
    for (const std::string& folder : folders(root, place)) keep_smallest(limits.cpus, cpus_of(folder, place.v2));
  for (const ControllerMount& place : places(*groups, *mounts, "memory"))
    for (const std::string& folder : folders(root, place))
      keep_smallest(limits.memory_bytes, memory_of(folder, place.v2));
  return limits;
}

std::vector<std::string> cgroup_folders(const std::string& root, const std::string& controller) {
  Result<std::string> groups = read_file(root + "/proc/self/cgroup");
  Result<std::string> mounts = read_file(root + "/proc/self/mountinfo");
  std::vector<std::string> result;
  if (!groups || !mounts) return result;
  for (const ControllerMount& place : places(*groups, *mounts, controller))
    for (std::string& folder : folders(root, place)) result.push_back(folder.substr(root.size()));
  return result;
}

std::optional<double> parse_cpu_max(std::string_view text, bool& readable) {
  text = trim(text);
  size_t space = text.find(' ');
  std::string_view quota = text.substr(0, space);
  std::string_view period = space == std::string_view::npos ? "100000" : trim(text.substr(space));
  return parse_cfs_quota(quota == "max" ? "-1" : quota, period, readable);
}

std::optional<double> parse_cfs_quota(std::string_view quota_us, std::string_view period_us, bool& readable) {
  std::optional<int64_t> quota = to_number(quota_us);
  std::optional<int64_t> period = to_number(period_us);
  readable = quota && period && *period > 0 && *quota != 0;
  if (!readable || *quota < 0) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

std::optional<int64_t> parse_memory_limit(std::string_view text, bool& readable) {
  text = trim(text);
  readable = true;
  if (text == "max" || text == "-1") return std::nullopt;
  std::optional<int64_t> limit = to_number(text);
  readable = limit.has_value() && *limit >= 0;
  constexpr int64_t kNoLimit = int64_t{1} << 60;  // v1 writes 2^63 rounded down to a page
  if (!readable || *limit >= kNoLimit) return std::nullopt;
  return limit;
}

}  // namespace ridge::machine
