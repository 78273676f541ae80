#include "machine/topology.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "base/file.h"
#include "base/proc_text.h"

namespace ridge::machine {
namespace {

constexpr int kMostCpus = 1 << 16;  // bound for damaged files; Linux itself stops at 8192

std::optional<std::string> file_text(const std::string& path) {
  Result<std::string> content = read_file(path);
  if (!content) return std::nullopt;
  return std::string(trim(*content));
}

std::optional<int64_t> file_number(const std::string& path) {
  std::optional<std::string> text = file_text(path);
  return text ? to_number(*text) : std::nullopt;
}

std::vector<int> file_list(const std::string& path) {
  std::optional<std::string> text = file_text(path);
  if (!text) return {};
  Result<std::vector<int>> list = parse_cpu_list(*text);
  return list ? *list : std::vector<int>{};
}

// "48K", "1024K", "32M" → bytes.
std::optional<int64_t> cache_size(const std::string& text) {
  if (text.empty()) return std::nullopt;
  int64_t unit = 1;
  std::string_view digits = text;
  if (text.back() == 'K') unit = 1024;
  if (text.back() == 'M') unit = 1024 * 1024;
  if (text.back() == 'G') unit = 1024 * 1024 * 1024;
  if (unit != 1) digits.remove_suffix(1);
  std::optional<int64_t> value = to_number(digits);
  if (!value || *value <= 0) return std::nullopt;
  return *value * unit;
}

// "Node 0 MemTotal:  24684092 kB" → bytes.
int64_t node_memory(const std::string& path) {
  std::optional<std::string> text = file_text(path);
  if (!text) return 0;
  size_t at = text->find("MemTotal:");
  if (at == std::string::npos) return 0;
  std::string_view rest = std::string_view(*text).substr(at + 9);
  rest = rest.substr(0, rest.find("kB"));
  return to_number(rest).value_or(0) * 1024;
}

// Numbers of folders "<prefix>N" in `folder`.
std::vector<int> numbered_folders(const std::string& folder, std::string_view prefix) {
  std::vector<int> numbers;
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failure)) {
    std::string name = entry.path().filename().string();
    if (!name.starts_with(prefix)) continue;
    std::optional<int64_t> number = to_number(std::string_view(name).substr(prefix.size()));
    if (number && *number >= 0 && *number < kMostCpus) numbers.push_back(static_cast<int>(*number));
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

// The values of "CPU : N" in /proc/cpuinfo.
std::vector<int> cpuinfo_cpus(const std::string& cpuinfo) {
  std::vector<int> ids;
  for (size_t at = 0; at < cpuinfo.size();) {
    size_t end = std::min(cpuinfo.find('\n', at), cpuinfo.size());
    std::string_view line = std::string_view(cpuinfo).substr(at, end - at);
    if (line.starts_with("processor"))
      if (size_t colon = line.find(':'); colon != std::string_view::npos)
        if (auto id = to_number(line.substr(colon + 1)); id && *id >= 0 && *id < kMostCpus)
          ids.push_back(static_cast<int>(*id));
    at = end + 1;
  }
  return ids;
}

std::vector<int> online_cpus(const std::string& root, const std::string& folder) {
  std::vector<int> online = file_list(folder + "/online");
  if (!online.empty()) return online;
  Result<std::string> cpuinfo = read_file(root + "/proc/cpuinfo");
  if (cpuinfo) online = cpuinfo_cpus(*cpuinfo);
  return online.empty() ? numbered_folders(folder, "cpu") : online;
}

// A name for the physical core of a CPU, the same for its siblings; a CPU without this information is its own core.
std::string core_name(const std::string& folder, int id) {
  std::string topology = folder + "/cpu" + std::to_string(id) + "/topology/";
  for (const char* file : {"core_cpus_list", "thread_siblings_list"})
    if (auto siblings = file_text(topology + file)) return "siblings " + *siblings;
  auto core = file_number(topology + "core_id");
  auto package = file_number(topology + "physical_package_id");
  if (core) return "core " + std::to_string(package.value_or(0)) + "." + std::to_string(*core);
  return "CPU " + std::to_string(id);
}

void add_caches(const std::string& folder, int id, std::set<std::pair<int, std::vector<int>>>& seen,
                Topology& topology) {
  std::string caches = folder + "/cpu" + std::to_string(id) + "/cache/";
  for (int index : numbered_folders(caches, "index")) {
    std::string cache = caches + "index" + std::to_string(index) + "/";
    auto level = file_number(cache + "level");
    auto size = cache_size(file_text(cache + "size").value_or(""));
    if (!level || !size || file_text(cache + "type").value_or("") == "Instruction") continue;
    std::vector<int> sharing = file_list(cache + "shared_cpu_list");
    if (sharing.empty()) sharing = {id};
    if (seen.emplace(static_cast<int>(*level), sharing).second)
      topology.caches.push_back({static_cast<int>(*level), *size, sharing});
  }
}

}  // namespace

Result<Topology> topology_from_files(const std::string& root) {
  std::string folder = root + "/sys/devices/system/cpu";
  Topology topology;
  std::map<std::string, int> cores;
  std::set<std::pair<int, std::vector<int>>> seen;
  for (int id : online_cpus(root, folder)) {
    auto [core, added] = cores.emplace(core_name(folder, id), static_cast<int>(cores.size()));
    topology.cpus.push_back({id, core->second});
    add_caches(folder, id, seen, topology);
  }
  if (topology.cpus.empty())
    return Error{Code::kUnsupported, "read the CPUs of this machine: neither " + folder + "/online nor " + root +
                                         "/proc/cpuinfo names one; mount /proc and /sys"};
  std::string nodes = root + "/sys/devices/system/node";
  for (int id : numbered_folders(nodes, "node")) {
    std::string node = nodes + "/node" + std::to_string(id) + "/";
    topology.nodes.push_back({id, node_memory(node + "meminfo"), file_list(node + "cpulist")});
  }
  return topology;
}

Result<std::vector<int>> parse_cpu_list(std::string_view text) {
  std::vector<int> numbers;
  text = trim(text);
  while (!text.empty()) {
    size_t comma = std::min(text.find(','), text.size());
    std::string_view part = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    size_t dash = part.find('-');
    auto first = to_number(part.substr(0, dash));
    auto last = dash == std::string_view::npos ? first : to_number(part.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last >= kMostCpus)
      return Error{Code::kInvalid, "not a list of CPUs such as 0-3,8: '" + std::string(part) + "'"};
    for (int64_t number = *first; number <= *last; ++number) numbers.push_back(static_cast<int>(number));
  }
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

std::set<int> affinity(const std::string& root) {
  const auto list = line_value(text_or_empty(root + "/proc/self/status"), "Cpus_allowed_list");
  const Result<std::vector<int>> cpus = parse_cpu_list(list.value_or(""));
  return cpus ? std::set<int>(cpus->begin(), cpus->end()) : std::set<int>();
}

std::string format_cpu_list(const std::vector<int>& ascending) {
  std::string text;
  for (size_t first = 0; first < ascending.size();) {
    size_t last = first;
    while (last + 1 < ascending.size() && ascending[last + 1] == ascending[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(ascending[first]);
    if (last > first) text += '-' + std::to_string(ascending[last]);
    first = last + 1;
  }
  return text;
}

}  // namespace ridge::machine
