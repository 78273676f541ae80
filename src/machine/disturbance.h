// Measures disturbance: CPU time that this process asked for and did not get, throttling by a control group, time taken
// by the host, and the other processes that ran. Not for GPUs: what else runs on one is telemetry's.
//
// A DisturbanceWatch reads the kernel's counters before and after; judging them is pure.
// Sources: Linux Documentation/scheduler/sched-stats.rst (/proc/PID/task/TID/schedstat), proc(5) (stat, uptime),
// admin-guide/cgroup-v2.rst and scheduler/sched-bwc.rst (cpu.stat).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/fields.h"
#include "base/figure.h"

namespace ridge::machine {

struct BusyProcess {
  std::string name;  // processes of one name count together
  double cpus = 0;   // mean
};
void visit_fields(auto& visit, Is<BusyProcess> auto& process) {
  visit("name", process.name);
  visit("cpus", process.cpus);
}

struct Disturbance {
  double seconds = 0;  // watched; 0: the counters cannot be read here
  double cpus = 0;     // that this process may use, by affinity and quota
  // CPU time of this process's threads, over what they asked for: running plus waiting for a CPU, at most all of `cpus`
  // (threads that outnumber the CPUs wait for one another). Absent: not reported, or it asked for next to nothing.
  std::optional<double> share_of_cpu_got;
  double waited_s = 0;                          // by these threads together
  double throttled_s = 0;                       // the control groups around this process, summed over CPUs
  double steal_share = 0;                       // taken by the host, of the time in which the CPUs had work
  double other_cpus = 0;                        // mean CPUs used by other processes, on those that this process may use
  std::vector<BusyProcess> others = {};         // the three busiest; this process and its children are none
  std::optional<double> mean_over_median = {};  // of the runs' times; absent: not a series of equal runs
};
// Any of: less than 90 % of the CPU time got and more than 5 % of the time spent waiting (a thread that mostly sleeps
// waits a few microseconds whenever it wakes, which is much of the little that it asks for); more than 5 % stolen;
// others on more than half of the CPUs; a mean of more than 1.5 medians. Throttling alone is none: a process that uses
// all of its quota is throttled.
bool disturbed(const Disturbance& disturbance);
inline bool disturbed(const std::optional<Disturbance>& watched) { return watched && disturbed(*watched); }
// "The machine was busy: this process got 12 % of the CPU time it asked for; others used 1.9 of 2 CPUs: cc1plus 1.4,
// …"; empty if not disturbed.
std::string sentence(const Disturbance& disturbance);

void visit_fields(auto& visit, Is<Disturbance> auto& disturbance) {
  visit("seconds", disturbance.seconds);
  visit("cpus", disturbance.cpus);
  visit("share_of_cpu_got", disturbance.share_of_cpu_got);
  visit("waited_s", disturbance.waited_s);
  visit("throttled_s", disturbance.throttled_s);
  visit("steal_share", disturbance.steal_share);
  visit("other_cpus", disturbance.other_cpus);
  visit("others", disturbance.others);
  visit.unless_empty("mean_over_median", disturbance.mean_over_median);
  visit.derived("disturbed", Derived{disturbed(disturbance), Figure().csv()});
  visit.derived("sentence", sentence(disturbance));
}

// [s], of a thread: on a CPU, and ready but waiting for one.
struct ThreadTime {
  double run_s = 0, wait_s = 0;
};

// [s], of a process: on CPUs, itself, and those children that ended and were waited for.
struct OtherProcess {
  std::string name;
  int parent = 0;
  double own_s = 0, of_children_s = 0;
};

// The kernel's counters at one moment [s]. Absent and 0: not reported.
struct CpuCounters {
  double at_s = 0;   // since boot
  double cpus = 0;   // as in Disturbance
  double own_s = 0;  // CPU time of this process and its descendants, those that ended included
  double throttled_s = 0;
  std::optional<double> busy_s;  // of the CPUs that this process may use, by anything
  double steal_s = 0;
  std::map<int, OtherProcess> others;  // by process id
};
CpuCounters read_cpu_counters(const std::string& root);
// Threads of this process, by id.
std::map<int, ThreadTime> read_threads(const std::string& root);

// `threads`: what the threads of this process got and waited between the two.
Disturbance disturbance_between(const CpuCounters& before, const CpuCounters& after, const ThreadTime& threads);

// The root folder of the counters: $RIDGE_PROC_ROOT (tests name an empty or a recorded one), else "".
std::string proc_root();

// Watches from its construction to end(). Threads that end in between count up to the last look() before. One thread.
class DisturbanceWatch {
 public:
  explicit DisturbanceWatch(std::string root = proc_root());
  void look();  // some 10 µs per thread of this process
  Disturbance end();

 private:
  std::string root_;
  CpuCounters before_;
  std::map<int, ThreadTime> last_;
  ThreadTime sum_;
};

}  // namespace ridge::machine
