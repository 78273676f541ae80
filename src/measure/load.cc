#include "measure/load.h"

#include <sys/prctl.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "measure/statistics.h"

namespace ridge::measure {
namespace {

// Interval between the rule's checks of new samples: waking up takes a CPU from the target for some 50 µs.
constexpr auto kLook = std::chrono::milliseconds(20);

// In a closed loop, one in kUntimed + 1 of the runs shorter than this is timed: reading the clock and storing a sample
// costs about 0.2 µs, which would distort the measurement. All count for the rate. Their stages, which cost four more
// readings, come from an untimed run, before one timed run in kStagesEvery.
constexpr auto kShortRun = std::chrono::microseconds(20);
constexpr int kUntimed = 31;
constexpr int kStagesEvery = 8;

struct Sample {
  TimePoint begin, end;  // of the run itself; in a closed loop `begin` is the end of the caller's last sample
  int64_t runs = 1;      // between them; the last one is timed
  TimePoint due;         // from when latency counts
  Nanoseconds latency{};
  std::optional<engine::RunTimes> times;
  size_t caller = 0;
  int failure = 0;  // as AsyncTarget::Ended
  int64_t number = 0;
};

// The counted runs of one caller of a closed loop, which follow one another without a gap.
struct Window {
  TimePoint begin, end;
  int64_t runs = 0;  // that succeeded
  bool any = false;

  double rate_per_s() const { return end > begin ? static_cast<double>(runs) / to_seconds(end - begin) : 0; }
};

// Samples of one caller, or of all callers of one thread; shared with the collector.
struct alignas(64) Caller {
  Mutex mutex;
  std::vector<Sample> fresh RIDGE_GUARDED_BY(mutex);  // the collector takes them away
  std::optional<Error> error RIDGE_GUARDED_BY(mutex);
};

// The intended times, handed out one by one. Thread-safe.
class Schedule {
 public:
  explicit Schedule(const LoadOptions& options)
      : open_(options.rate_per_s || !options.arrivals.empty()), given_(options.arrivals) {
    if (options.rate_per_s) times_.emplace(options.arrival, *options.rate_per_s, options.seed);
  }
  // Only in an open loop. TimePoint::max(): no more requests are due.
  TimePoint next(TimePoint begin) {
    MutexLock lock(mutex_);
    if (times_) return begin + times_->next();
    return next_ < given_.size() ? begin + given_[next_++] : TimePoint::max();
  }
  bool open() const { return open_; }

 private:
  const bool open_;
  const std::vector<Nanoseconds>& given_;
  Mutex mutex_;
  size_t next_ RIDGE_GUARDED_BY(mutex_) = 0;  // of given_
  std::optional<ArrivalTimes> times_ RIDGE_GUARDED_BY(mutex_);
};

class Load {
 public:
  Load(const LoadOptions& options, Clock& clock)
      : options_(options),
        clock_(clock),
        schedule_(options),
        callers_(static_cast<size_t>(options.concurrency)),
        windows_(callers_.size()),
        warm_up_(options.warm_up.value_or(WarmUpOptions{})),
        warm_(!options.warm_up),
        rule_(options.stop) {}

  Result<LoadResult> run(const RunOnce& run_once) {
    return run(callers_.size(), [this, &run_once](size_t caller) { call(run_once, caller, callers_[caller]); });
  }

  Result<LoadResult> run(AsyncTarget& target, size_t threads) {
    return run(threads, [&, this](size_t thread) { Driver(*this, target, thread, threads).drive(); });
  }

 private:
  Result<LoadResult> run(size_t thread_count, const std::function<void(size_t)>& body) {
    begin_ = counting_from_ = last_end_ = clock_.now();
    if (warm_ && options_.counting_begins) options_.counting_begins();
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < thread_count; ++i) threads.push_back(clock_.start([&body, i] { body(i); }));
    collect_until_enough();
    if (options_.before_end) options_.before_end();
    leave_ = interrupted_;
    stop_ = true;
    for (std::jthread& thread : threads) clock_.join(thread);
    if (schedule_.open() || all_rest()) collect();  // a stall cut off by the end counts
    if (error_) return *error_;
    return result();
  }

  bool stopped() const { return stop_.load(std::memory_order_relaxed); }

  void call(const RunOnce& run_once, size_t number, Caller& caller) {
    prctl(PR_SET_TIMERSLACK, 1);  // [ns] Linux would otherwise end a sleep up to 50 µs late
    TimePoint last_end = clock_.now();
    Nanoseconds last_run = kShortRun;
    for (int64_t samples = 0; !stopped(); ++samples) {
      TimePoint due = schedule_.open() ? schedule_.next(begin_) : last_end;
      if (schedule_.open() && !clock_.sleep_until(due, [this] { return stopped(); })) return;
      if (samples > 0 && options_.end_by && clock_.now() + last_run > *options_.end_by) return rest();
      // In a closed loop one run begins where the last one ended.
      Sample sample;
      sample.begin = schedule_.open() ? clock_.now() : last_end;
      sample.caller = number;
      Status done = ok_status();
      const bool brief = !schedule_.open() && last_run < kShortRun;
      if (!brief || samples % kStagesEvery == 0) sample.times.emplace();
      if (brief) {
        done = run_untimed(run_once, number, sample.times);
        sample.runs += kUntimed;
        due = clock_.now();
      }
      if (done) done = run_once(static_cast<int>(number), brief ? nullptr : &*sample.times);
      sample.end = last_end = clock_.now();
      sample.latency = sample.end - due;
      last_run = schedule_.open() ? sample.end - sample.begin : sample.latency;
      MutexLock lock(caller.mutex);
      if (!done) {
        caller.error = done.error();
        return;
      }
      caller.fresh.push_back(sample);
    }
  }

  // The thread stays until the end: the kernel's counters of one that has ended are gone.
  void rest() {
    ++resting_;
    clock_.sleep_until(TimePoint::max(), [this] { return stopped(); });
  }
  bool all_rest() const { return resting_ == callers_.size(); }

  static Status run_untimed(const RunOnce& run_once, size_t number, std::optional<engine::RunTimes>& first) {
    for (int i = 0; i < kUntimed; ++i)
      RIDGE_TRY(run_once(static_cast<int>(number), i == 0 && first ? &*first : nullptr));
    return {};
  }

  // One thread's callers of an AsyncTarget.
  class Driver {
   public:
    Driver(Load& load, AsyncTarget& target, size_t thread, size_t threads)
        : load_(load), target_(target), thread_(thread), samples_(load.callers_.size()) {
      for (size_t caller = thread; caller < samples_.size(); caller += threads) idle_.push_back(caller);
      std::reverse(idle_.begin(), idle_.end());
    }

    void drive() {
      prctl(PR_SET_TIMERSLACK, 1);
      while (!load_.stopped()) wait(send_what_is_due());
      while (in_flight_ > 0 && !load_.leave_.load(std::memory_order_relaxed)) wait(load_.clock_.now() + kLook);
    }

   private:
    // When to look again. An open loop's request that is due while all callers are busy is the next to be sent.
    TimePoint send_what_is_due() {
      while (!idle_.empty()) {
        const TimePoint now = load_.clock_.now();
        if (!due_) due_ = load_.schedule_.open() ? load_.schedule_.next(load_.begin_) : now;
        if (*due_ > now) return std::min(*due_, now + kLook);
        const size_t caller = idle_.back();
        idle_.pop_back();
        send(caller, *due_, now);
        due_.reset();
      }
      return load_.clock_.now() + kLook;
    }

    void send(size_t caller, TimePoint due, TimePoint now) {
      Sample& sample = samples_[caller] = {};
      sample.begin = now;
      sample.due = due;
      sample.caller = caller;
      ++in_flight_;
      target_.begin(static_cast<int>(caller));
    }

    void wait(TimePoint until) {
      target_.wait(static_cast<int>(thread_), until, [this](const AsyncTarget::Ended& ended) { end(ended); });
    }

    void end(const AsyncTarget::Ended& ended) {
      const auto caller = static_cast<size_t>(ended.caller);
      Sample sample = samples_[caller];
      sample.end = load_.clock_.now();
      sample.latency = sample.end - sample.due;
      sample.failure = ended.failure;
      sample.times = ended.times;
      sample.number = ended.number;
      {
        MutexLock lock(load_.callers_[thread_].mutex);
        load_.callers_[thread_].fresh.push_back(sample);
      }
      --in_flight_;
      // In a closed loop the next request begins where this one ended.
      if (!load_.schedule_.open() && !load_.stopped())
        send(caller, sample.end, sample.end);
      else
        idle_.push_back(caller);
    }

    Load& load_;
    AsyncTarget& target_;
    const size_t thread_;
    std::vector<Sample> samples_;  // in flight, by caller
    std::vector<size_t> idle_;     // the last to become idle is the next to send: its connection is warm
    std::optional<TimePoint> due_;
    size_t in_flight_ = 0;
  };

  void collect_until_enough() {
    while (verdict_ == Verdict::kContinue && !interrupted_ && !error_) {
      clock_.sleep_for(kLook);
      collect();
      const Nanoseconds elapsed = clock_.now() - counting_from_;
      if (warm_)
        verdict_ = rule_.verdict(static_cast<int64_t>(latencies_ms_.size()), elapsed, [this] { return precision(); });
      const bool all_ended = !options_.arrivals.empty() && ended_ == options_.arrivals.size();
      if (verdict_ == Verdict::kContinue && (all_ended || all_rest())) verdict_ = Verdict::kSpent;
      interrupted_ = options_.interrupted && options_.interrupted();
      if (options_.progress) options_.progress(warm_ ? to_seconds(elapsed) / to_seconds(options_.stop.max_time) : 0);
    }
    // Slow runs: those in progress at the end still count, so that every caller contributes to the rate.
    while (!error_ && !interrupted_ && !all_rest() && !every_caller_counts()) {
      clock_.sleep_for(kLook);
      collect();
      interrupted_ = options_.interrupted && options_.interrupted();
    }
  }

  double precision() const { return half_width_percent(latencies_ms_, options_.stop.confidence); }

  bool every_caller_counts() const {
    if (schedule_.open()) return !latencies_ms_.empty() || !failures_.empty();
    return std::all_of(windows_.begin(), windows_.end(), [](const Window& window) { return window.any; });
  }

  void collect() {
    std::vector<Sample> fresh;
    for (Caller& caller : callers_) {
      MutexLock lock(caller.mutex);
      fresh.insert(fresh.end(), caller.fresh.begin(), caller.fresh.end());
      caller.fresh.clear();
      if (caller.error) error_ = caller.error;
    }
    std::stable_sort(fresh.begin(), fresh.end(), [](const Sample& a, const Sample& b) { return a.end < b.end; });
    if (fresh.empty()) return;
    last_end_ = fresh.back().end;
    ended_ += fresh.size();
    if (warm_) {
      for (const Sample& sample : fresh) count(sample);
      return;
    }
    for (const Sample& sample : fresh) {
      if (sample.failure != 0) continue;
      warm_up_.add(to_ms(sample.latency));
      add(sample.times), warming_runs_ += sample.runs;
    }
    const Nanoseconds elapsed = clock_.now() - begin_;
    if (warm_up_.steady(elapsed) || elapsed >= options_.warm_up->max_time) start_counting();
  }

  // In a closed loop, a run that began during warm-up belongs to neither part: half of it is not counted.
  void count(const Sample& sample) {
    if (!schedule_.open() && sample.begin < counting_from_) return;
    Window& window = windows_[sample.caller];
    if (!window.any) window.begin = sample.begin;
    window.any = true;
    window.end = sample.end;
    if (options_.keep_runs && timed_runs_.size() < kMostKeptRuns) {
      const TimePoint due = schedule_.open() ? sample.end - sample.latency : sample.begin;
      timed_runs_.push_back(
          {static_cast<int>(sample.caller), due, sample.begin, sample.end, sample.runs, sample.failure, sample.number});
    }
    if (sample.failure != 0) return void(++failures_[sample.failure]);
    window.runs += sample.runs;
    if (latencies_ms_.empty()) sum_ = {}, timed_ = 0;
    latencies_ms_.push_back(to_ms(sample.latency));
    if (schedule_.open())
      running_ += sample.end - sample.begin, queueing_ += sample.latency - (sample.end - sample.begin);
    whose_.push_back(static_cast<int>(sample.caller));
    add(sample.times);
  }

  void add(const std::optional<engine::RunTimes>& times) {
    if (!times) return;
    sum_.input += times->input;
    sum_.compute += times->compute;
    sum_.output += times->output;
    ++timed_;
  }

  // Counting starts at the end of a request, so that the next one is counted whole.
  void start_counting() {
    warm_ = true;
    counting_from_ = last_end_;
    if (options_.counting_begins) options_.counting_begins();
  }

  LoadResult result() const {
    LoadResult result;
    result.latencies_ms = only_warmed() ? warm_up_.latencies() : latencies_ms_;
    result.runs = timed_runs_;
    result.half_width_percent = precision();
    result.verdict = verdict_;
    result.interrupted = interrupted_;
    result.failures = failures_;
    result.rate_per_s = rate();
    if (!schedule_.open() && !latencies_ms_.empty()) {
      result.callers = whose_;
      for (const Window& window : windows_) result.caller_rates_per_s.push_back(window.rate_per_s());
    }
    if (schedule_.open() && !latencies_ms_.empty()) {
      const double time_s = to_seconds(last_end_ - counting_from_) * static_cast<double>(callers_.size());
      result.busy_share = time_s > 0 ? std::min(1.0, to_seconds(running_) / time_s) : 0;
      result.mean_queueing_ms = to_ms(queueing_) / static_cast<double>(latencies_ms_.size());
    }
    if (timed_ > 0) result.mean_times = {sum_.input / timed_, sum_.compute / timed_, sum_.output / timed_};
    return result;
  }

  // Nothing was counted, not even a failure.
  bool only_warmed() const { return latencies_ms_.empty() && failures_.empty(); }

  // In a closed loop: the callers' rates, each over its own whole runs; they end at different moments. In an open one,
  // and after an early interruption: requests over time.
  double rate() const {
    const bool warming = only_warmed();
    const Nanoseconds elapsed = last_end_ - (warming ? begin_ : counting_from_);
    const auto requests = static_cast<double>(warming ? warming_runs_ : static_cast<int64_t>(latencies_ms_.size()));
    if (warming || schedule_.open()) return elapsed.count() > 0 ? requests / to_seconds(elapsed) : 0;
    double sum = 0, counted = 0;
    for (const Window& window : windows_) sum += window.rate_per_s(), counted += window.any;
    // A caller whose time was up before a whole run of its own is taken to be like the others.
    return counted > 0 ? sum * static_cast<double>(windows_.size()) / counted : 0;
  }

  const LoadOptions& options_;
  Clock& clock_;
  Schedule schedule_;
  std::vector<Caller> callers_;
  std::vector<Window> windows_;                     // of the collecting thread
  std::atomic<bool> stop_ = false, leave_ = false;  // the second: also the requests in flight
  std::atomic<size_t> resting_ = 0;                 // callers whose time is up
  TimePoint begin_;

  // Used by the collecting thread alone.
  WarmUp warm_up_;
  bool warm_;
  TimePoint counting_from_;
  std::vector<double> latencies_ms_;  // of the counted requests
  std::vector<int> whose_;            // the caller of each
  std::vector<TimedRun> timed_runs_;
  std::map<int, int64_t> failures_;
  StopRule rule_;
  Verdict verdict_ = Verdict::kContinue;
  bool interrupted_ = false;
  std::optional<Error> error_;
  int64_t warming_runs_ = 0;
  Nanoseconds running_{}, queueing_{};  // of the counted requests of an open loop
  int64_t timed_ = 0;                   // number in sum_
  engine::RunTimes sum_;                // of the counted runs; until there is one, of the warm-up's
  TimePoint last_end_;
  size_t ended_ = 0;  // requests
};

Status check(const LoadOptions& options) {
  if (options.concurrency < 1) return Error{Code::kInvalid, "concurrency should be at least 1"};
  if (options.rate_per_s && !(*options.rate_per_s > 0))
    return Error{Code::kInvalid, "the rate should be above 0 per second"};
  if (options.rate_per_s && !options.arrivals.empty())
    return Error{Code::kInvalid, "a load has a rate or given times, not both"};
  return {};
}

}  // namespace

Result<LoadResult> run_load(const RunOnce& run_once, const LoadOptions& options, Clock& clock) {
  RIDGE_TRY(check(options));
  return Load(options, clock).run(run_once);
}

Result<LoadResult> run_load(AsyncTarget& target, int threads, const LoadOptions& options, Clock& clock) {
  RIDGE_TRY(check(options));
  return Load(options, clock).run(target, static_cast<size_t>(std::clamp(threads, 1, options.concurrency)));
}

}  // namespace ridge::measure
