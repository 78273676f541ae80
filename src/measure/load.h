// Puts load on a target and collects latencies until the stop rule is met or it is interrupted.
//
// Closed loop: `concurrency` callers, each sends its next request when it has the answer. Open loop: requests have
// intended times, independent of the target; latency counts from the intended time, so that a stall shows in every
// request that should have been sent during it (no coordinated omission). At most `concurrency` requests are in flight;
// a request that finds all callers busy waits, and its waiting counts.
//
// A target that computes here (RunOnce) has a thread per caller. One that waits for others, as a server's client does
// (AsyncTarget), has few threads, each with many callers: hundreds of threads would slow a server on the same machine.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "engine/engine.h"
#include "measure/arrival.h"
#include "measure/stop_rule.h"
#include "measure/warm_up.h"

namespace ridge::measure {

// One request by caller `caller` (0 … concurrency − 1), from its thread. Fills in `times` if it is given: where runs
// take microseconds, only some runs are timed, since reading the clock would distort them. An error ends the load.
using RunOnce = std::function<Status(int caller, engine::RunTimes* times)>;

// A counted run over time, or several of which the last one is timed.
struct TimedRun {
  int caller = 0;
  TimePoint due, begin, end;  // intended, begun, ended; in a closed loop it is due when it begins
  int64_t runs = 1;           // in it
  int failure = 0;            // of an AsyncTarget's request; 0: none
  int64_t number = 0;         // AsyncTarget::Ended's
};
constexpr size_t kMostKeptRuns = 100'000;  // of a load: what a viewer of traces opens

// Callers without threads of their own: thread t drives the callers c with c mod threads = t. Functions are called from
// the thread of their callers.
class AsyncTarget {
 public:
  struct Ended {
    int caller = 0;
    int failure = 0;  // 0: none; else its kind, by the target's own numbers
    // Stage times of some successful requests: reading the clock for each would distort those of microseconds.
    std::optional<engine::RunTimes> times;
    int64_t number = 0;  // of the request, by the target's own count; kept in TimedRun
  };
  virtual ~AsyncTarget() = default;
  // Sends one request of an idle caller. It ends in a later wait(), also where it fails at once.
  virtual void begin(int caller) = 0;
  // Waits until a request of this thread's callers ends, but not beyond `until`. Calls `ended` for each that has ended;
  // the caller is idle by then, and `ended` may begin its next request.
  virtual void wait(int thread, TimePoint until, const std::function<void(const Ended&)>& ended) = 0;
};

struct LoadOptions {
  int concurrency = 1;
  std::optional<double> rate_per_s;  // open loop
  Arrival arrival = Arrival::kConstant;
  // Intended times of an open loop from the load's start, not decreasing, instead of a rate. The last ends it.
  std::vector<Nanoseconds> arrivals;
  uint64_t seed = 1;
  std::optional<WarmUpOptions> warm_up;  // absent: the first request counts
  StopOptions stop;                      // its times begin when the target is warm
  bool keep_runs = false;                // LoadResult::runs is filled in, up to kMostKeptRuns
  std::optional<TimePoint> end_by;       // a caller begins no run that would probably end later, but for its first
  std::function<bool()> interrupted;     // polled; may be empty
  std::function<void(double share_done)> progress;  // of the time limit; may be empty
  std::function<void()> counting_begins;            // called once, when the target is warm; may be empty
  std::function<void()> before_end;                 // called once, while the callers' threads are there; may be empty
};

struct LoadResult {
  // In the order in which requests ended; if interrupted early, those of the warm-up. In a closed loop of runs that
  // take microseconds a sample of them: reading the clock for each would distort them.
  std::vector<double> latencies_ms;
  double half_width_percent = 0;  // of the mean latency, at StopOptions::confidence
  Verdict verdict = Verdict::kSpent;
  bool interrupted = false;
  double rate_per_s = 0;        // of requests; in a closed loop the sum of the callers' own rates over whole runs
  engine::RunTimes mean_times;  // of the counted requests with times
  // Filled by a closed loop that ended warm; empty otherwise.
  std::vector<int> callers;                // whose each of latencies_ms is
  std::vector<TimedRun> runs;              // of latencies_ms and of failures, with LoadOptions::keep_runs
  std::vector<double> caller_rates_per_s;  // of requests, over the caller's own whole runs
  // For the counted requests of an open loop: a caller's time in runs, a request's from intended time to run.
  double busy_share = 0, mean_queueing_ms = 0;
  // For an AsyncTarget: counted requests that failed, by kind. Latencies and rates are those of the others.
  std::map<int, int64_t> failures;
};

Result<LoadResult> run_load(const RunOnce& run_once, const LoadOptions& options, Clock& clock);
// A failing request does not end this load. Interrupted, it leaves the requests in flight.
Result<LoadResult> run_load(AsyncTarget& target, int threads, const LoadOptions& options, Clock& clock);

}  // namespace ridge::measure
