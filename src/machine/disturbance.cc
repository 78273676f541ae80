#include "machine/disturbance.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>

#include "base/file.h"
#include "base/proc_text.h"
#include "base/units.h"
#include "machine/cgroup.h"
#include "machine/topology.h"

namespace ridge::machine {
namespace {

constexpr double kLeastGot = 0.9;
constexpr double kLeastWaited = 0.05;  // of the time watched
constexpr double kMostSteal = 0.05;
constexpr double kMostOthers = 0.5;  // of the CPUs: they share caches, memory and clock with the measurement
constexpr double kMostMeanOverMedian = 1.5;
constexpr double kLeastAsked = 0.02;  // [s]: below, the kernel's ticks are too coarse
constexpr double kLeastShown = 0.05;  // CPUs of a process that is named: less is 0.0 in a sentence
constexpr size_t kShown = 3;
constexpr double kTick = 0.01;  // [s]: USER_HZ is 100 (proc(5), time(7))

// The names in a folder that are numbers: of processes and threads.
std::vector<int> numbers_in(const std::string& folder) {
  std::vector<int> numbers;
  std::error_code failure;
  for (std::filesystem::directory_iterator at(folder, failure), end; !failure && at != end; at.increment(failure))
    if (const auto number = to_number(at->path().filename().string())) numbers.push_back(static_cast<int>(*number));
  return numbers;
}

// /proc/PID/stat: the name stands in parentheses and may hold anything.
struct ProcessStat {
  int id = 0, parent = 0;
  std::string name;
  double own_s = 0, of_children_s = 0;  // of children that ended
};
std::optional<ProcessStat> process_stat(const std::string& text) {
  const size_t open = text.find('('), close = text.rfind(')');
  if (open == std::string::npos || close == std::string::npos || close < open) return std::nullopt;
  const std::vector<std::string> words = split_words(text.substr(close + 1));
  if (words.size() < 15) return std::nullopt;  // from "state", the third of proc(5)
  const auto ticks = [&](size_t at) { return kTick * static_cast<double>(to_number(words[at]).value_or(0)); };
  return ProcessStat{static_cast<int>(to_number(text.substr(0, open)).value_or(0)),
                     static_cast<int>(to_number(words[1]).value_or(0)), text.substr(open + 1, close - open - 1),
                     ticks(11) + ticks(12), ticks(13) + ticks(14)};
}

// This process with its descendants goes to own_s, the others by name.
void read_processes(const std::string& root, CpuCounters& counters) {
  const std::optional<ProcessStat> self = process_stat(text_or_empty(root + "/proc/self/stat"));
  if (!self) return;
  std::map<int, ProcessStat> all;
  for (const int id : numbers_in(root + "/proc"))
    if (auto stat = process_stat(text_or_empty(fmt::format("{}/proc/{}/stat", root, id)))) all[id] = std::move(*stat);
  all[self->id] = *self;
  const auto is_ours = [&](int id) {
    for (size_t hops = 0; hops < all.size(); ++hops) {
      if (id == self->id) return true;
      const auto at = all.find(id);
      if (at == all.end()) return false;
      id = at->second.parent;
    }
    return false;
  };
  for (const auto& [id, stat] : all) {
    if (is_ours(id))
      counters.own_s += stat.own_s + stat.of_children_s;
    else
      counters.others[id] = {stat.name, stat.parent, stat.own_s, stat.of_children_s};
  }
}

// Throttling of the groups around this process, each by itself.
double throttled_seconds(const std::string& root) {
  double sum = 0;
  for (const std::string& folder : cgroup_folders(root, "cpu")) {
    const std::string text = text_or_empty(root + folder + "/cpu.stat");
    const auto value = [&](const char* name) {
      return static_cast<double>(to_number(line_value(text, name, ' ').value_or("")).value_or(0));
    };
    sum += 1e-6 * value("throttled_usec") + 1e-9 * value("throttled_time");
  }
  return sum;
}

// "cpu0 user nice system idle iowait irq softirq steal guest guest_nice"; guests are in user.
void read_cpus(const std::string& root, CpuCounters& counters) {
  const std::set<int> allowed = affinity(root);
  std::istringstream lines(text_or_empty(root + "/proc/stat"));
  double cpus = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> words = split_words(line);
    if (words.size() < 9 || !words[0].starts_with("cpu") || words[0] == "cpu") continue;
    if (!allowed.empty() && !allowed.contains(static_cast<int>(to_number(words[0].substr(3)).value_or(-1)))) continue;
    const auto ticks = [&](size_t at) { return kTick * static_cast<double>(to_number(words[at]).value_or(0)); };
    ++cpus;
    counters.busy_s = counters.busy_s.value_or(0) + ticks(1) + ticks(2) + ticks(3) + ticks(6) + ticks(7);
    counters.steal_s += ticks(8);
  }
  counters.cpus = std::min(cpus, cgroup_limits(root).cpus.value_or(cpus));
}

// Growth of one thread's or process's counter; a smaller counter is that of a new one with the same number.
double since(double before, double after) { return after >= before ? after - before : after; }

// Time used before the first reading by processes that had ended by the second, by the closest ancestor that had not:
// it is in the time of that one's children now.
std::map<int, double> handed_on(const CpuCounters& before, const CpuCounters& after) {
  std::map<int, double> by_ancestor;
  for (const auto& [id, process] : before.others) {
    if (after.others.contains(id)) continue;
    int ancestor = process.parent;
    for (size_t hops = 0; hops < before.others.size() && !after.others.contains(ancestor); ++hops) {
      const auto at = before.others.find(ancestor);
      if (at == before.others.end()) break;
      ancestor = at->second.parent;
    }
    by_ancestor[ancestor] += process.own_s + process.of_children_s;
  }
  return by_ancestor;
}

// By name. A process has the time of its children that ended: those of a build live shorter than a measurement.
std::vector<BusyProcess> busiest(const CpuCounters& before, const CpuCounters& after, double seconds) {
  const std::map<int, double> known_of_children = handed_on(before, after);
  std::map<std::string, double> by_name;
  for (const auto& [id, process] : after.others) {
    const auto at = before.others.find(id);
    const bool same = at != before.others.end() && at->second.name == process.name;
    const OtherProcess known = same ? at->second : OtherProcess{};
    const auto handed = known_of_children.find(id);
    const double of_children =
        since(known.of_children_s, process.of_children_s) - (handed == known_of_children.end() ? 0 : handed->second);
    by_name[process.name] += (since(known.own_s, process.own_s) + std::max(0.0, of_children)) / seconds;
  }
  std::vector<BusyProcess> all;
  for (const auto& [name, cpus] : by_name) all.push_back({name, cpus});
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.cpus > b.cpus; });
  return all;
}

bool got_too_little(const Disturbance& d) {
  return d.share_of_cpu_got.value_or(1) < kLeastGot && d.waited_s > kLeastWaited * d.seconds;
}

std::string others_text(const Disturbance& disturbance) {
  std::string names;
  for (const BusyProcess& process : disturbance.others)
    names += fmt::format("{}{} {:.1f}", names.empty() ? ": " : ", ", process.name, process.cpus);
  return fmt::format("others used {:.1f} of {:.3g} CPUs{}", disturbance.other_cpus, disturbance.cpus, names);
}

}  // namespace

bool disturbed(const Disturbance& d) {
  if (d.seconds <= 0) return false;
  return got_too_little(d) || d.steal_share > kMostSteal || d.other_cpus > kMostOthers * d.cpus ||
         d.mean_over_median.value_or(1) > kMostMeanOverMedian;
}

std::string sentence(const Disturbance& d) {
  if (!disturbed(d)) return "";
  std::vector<std::string> parts;
  if (got_too_little(d))
    parts.push_back(
        fmt::format("this process got {} of the CPU time it asked for", format_percent(100 * *d.share_of_cpu_got)));
  if (d.throttled_s > 0) parts.push_back(fmt::format("its control group was throttled for {:.2g} s", d.throttled_s));
  if (d.steal_share > kMostSteal)
    parts.push_back(fmt::format("the host took {} of it", format_percent(100 * d.steal_share)));
  if (d.other_cpus > kLeastShown) parts.push_back(others_text(d));
  if (d.mean_over_median.value_or(1) > kMostMeanOverMedian)
    parts.push_back(fmt::format("the mean run took {:.2g} times the median", *d.mean_over_median));
  return fmt::format("The machine was busy: {}", fmt::join(parts, "; "));
}

CpuCounters read_cpu_counters(const std::string& root) {
  CpuCounters counters;
  const std::vector<std::string> uptime = split_words(text_or_empty(root + "/proc/uptime"));
  if (uptime.empty()) return counters;
  counters.at_s = std::strtod(uptime.front().c_str(), nullptr);
  counters.throttled_s = throttled_seconds(root);
  read_cpus(root, counters);
  read_processes(root, counters);
  return counters;
}

// schedstat: nanoseconds on a CPU, nanoseconds ready and waiting, number of time slices.
std::map<int, ThreadTime> read_threads(const std::string& root) {
  std::map<int, ThreadTime> threads;
  for (const int id : numbers_in(root + "/proc/self/task")) {
    const auto words = split_words(text_or_empty(fmt::format("{}/proc/self/task/{}/schedstat", root, id)));
    if (words.size() < 2) continue;
    const auto seconds = [&](size_t at) { return 1e-9 * static_cast<double>(to_number(words[at]).value_or(0)); };
    threads[id] = {seconds(0), seconds(1)};
  }
  return threads;
}

Disturbance disturbance_between(const CpuCounters& before, const CpuCounters& after, const ThreadTime& threads) {
  Disturbance d;
  d.seconds = before.at_s > 0 ? std::max(0.0, after.at_s - before.at_s) : 0;
  if (d.seconds <= 0) return {};
  d.cpus = after.cpus;
  d.waited_s = threads.wait_s;
  double asked = threads.run_s + threads.wait_s;
  if (d.cpus > 0) asked = std::min(asked, d.cpus * d.seconds);
  if (asked >= kLeastAsked) d.share_of_cpu_got = std::min(1.0, threads.run_s / asked);
  d.throttled_s = std::max(0.0, after.throttled_s - before.throttled_s);
  d.others = busiest(before, after, d.seconds);
  for (const BusyProcess& process : d.others) d.other_cpus += process.cpus;
  if (after.busy_s && before.busy_s) {
    const double busy = *after.busy_s - *before.busy_s, steal = std::max(0.0, after.steal_s - before.steal_s);
    if (busy + steal > 0) d.steal_share = steal / (busy + steal);
    d.other_cpus = std::max(0.0, busy - (after.own_s - before.own_s)) / d.seconds;
  }
  std::erase_if(d.others, [](const BusyProcess& process) { return process.cpus < kLeastShown; });
  d.others.resize(std::min(d.others.size(), kShown));
  return d;
}

std::string proc_root() {
  const char* root = std::getenv("RIDGE_PROC_ROOT");
  return root != nullptr ? root : "";
}

DisturbanceWatch::DisturbanceWatch(std::string root)
    : root_(std::move(root)), before_(read_cpu_counters(root_)), last_(read_threads(root_)) {}

void DisturbanceWatch::look() {
  std::map<int, ThreadTime> now = read_threads(root_);
  for (const auto& [id, time] : now) {
    ThreadTime before = last_[id];
    if (time.run_s < before.run_s) before = {};  // a new thread with an old number
    sum_.run_s += time.run_s - before.run_s;
    sum_.wait_s += since(before.wait_s, time.wait_s);
  }
  last_ = std::move(now);
}

Disturbance DisturbanceWatch::end() {
  look();
  return disturbance_between(before_, read_cpu_counters(root_), sum_);
}

}  // namespace ridge::machine
