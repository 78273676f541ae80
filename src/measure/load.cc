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

// In a closed loop, one in kUntimed + 1 of the runs shorter than this is timed: reading the clock and storing a sample costs
// about 0.2 µs, which would distort the measurement. All count for the rate. Their stages, which cost four more readings, come
// from an untimed run, before one timed run in kStagesEvery.
constexpr auto kShortRun = std::chrono::microseconds(20);
constexpr int kUntimed = 31;
constexpr int kStagesEvery = 8;

struct Sample {
  TimePoint begin, end;  // of the run itself; in a closed loop `begin` is the end of the caller's last sample
  int64_t runs = 1;      // between them; the last one is timed
  Nanoseconds latency{};
  std::optional<engine::RunTimes> times;
  size_t caller = 0;
};

// The counted runs of one caller of a closed loop, which follow one another without a gap.
struct Window {
  TimePoint begin, end;
  int64_t runs = 0;

  double rate_per_s() const { return end > begin ? static_cast<double>(runs) / to_seconds(end - begin) : 0; }
};

// One caller's samples; shared with the collector.
struct alignas(64) Caller {
  Mutex mutex;
  std::vector<Sample> fresh RIDGE_GUARDED_BY(mutex);  // the collector takes them away
  std::optional<Error> error RIDGE_GUARDED_BY(mutex);
};

// The intended times, handed out one by one. Thread-safe.
class Schedule {
 public:
  explicit Schedule(const LoadOptions& options) : open_(options.rate_per_s.has_value()) {
    if (open_) times_.emplace(options.arrival, *options.rate_per_s, options.seed);
  }
  // Only in an open loop.
  TimePoint next(TimePoint begin) {
    MutexLock lock(mutex_);
    return begin + times_->next();
  }
  bool open() const { return open_; }

 private:
  const bool open_;
  Mutex mutex_;
  std::optional<ArrivalTimes> times_ RIDGE_GUARDED_BY(mutex_);
};

class Load {
 public:
  Load(const RunOnce& run_once, const LoadOptions& options, Clock& clock)
      : run_once_(run_once),
        options_(options),
        clock_(clock),
        schedule_(options),
        callers_(static_cast<size_t>(options.concurrency)),
        windows_(callers_.size()),
        warm_up_(options.warm_up.value_or(WarmUpOptions{})),
        warm_(!options.warm_up),
        rule_(options.stop) {}

  Result<LoadResult> run() {
    begin_ = counting_from_ = last_end_ = clock_.now();
    if (warm_ && options_.counting_begins) options_.counting_begins();
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < callers_.size(); ++i) threads.push_back(clock_.start([this, i] { call(i, callers_[i]); }));
    collect_until_enough();
    if (options_.before_end) options_.before_end();
    stop_ = true;
    for (std::jthread& thread : threads) clock_.join(thread);
    if (schedule_.open()) collect();  // a stall cut off by the end counts
    if (error_) return *error_;
    return result();
  }

 private:
  void call(size_t number, Caller& caller) {
    prctl(PR_SET_TIMERSLACK, 1);  // [ns] Linux would otherwise end a sleep up to 50 µs late
    TimePoint last_end = clock_.now();
    Nanoseconds last_run = kShortRun;
    for (int64_t samples = 0; !stop_.load(std::memory_order_relaxed); ++samples) {
      TimePoint due = schedule_.open() ? schedule_.next(begin_) : last_end;
      if (schedule_.open() && !clock_.sleep_until(due, [this] { return stop_.load(std::memory_order_relaxed); }))
        return;
      // In a closed loop one run begins where the last one ended.
      Sample sample;
      sample.begin = schedule_.open() ? clock_.now() : last_end;
      sample.caller = number;
      Status done = ok_status();
      const bool brief = !schedule_.open() && last_run < kShortRun;
      if (!brief || samples % kStagesEvery == 0) sample.times.emplace();
      if (brief) {
        done = run_untimed(number, sample.times);
        sample.runs += kUntimed;
        due = clock_.now();
      }
      if (done) done = run_once_(static_cast<int>(number), brief ? nullptr : &*sample.times);
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

  Status run_untimed(size_t number, std::optional<engine::RunTimes>& first) {
    for (int i = 0; i < kUntimed; ++i)
      RIDGE_TRY(run_once_(static_cast<int>(number), i == 0 && first ? &*first : nullptr));
    return {};
  }

  void collect_until_enough() {
    while (verdict_ == Verdict::kContinue && !interrupted_ && !error_) {
      clock_.sleep_for(kLook);
      collect();
      const Nanoseconds elapsed = clock_.now() - counting_from_;
      if (warm_)
        verdict_ = rule_.verdict(static_cast<int64_t>(latencies_ms_.size()), elapsed, [this] { return precision(); });
      interrupted_ = options_.interrupted && options_.interrupted();
      if (options_.progress) options_.progress(warm_ ? to_seconds(elapsed) / to_seconds(options_.stop.max_time) : 0);
    }
    // Slow runs: those in progress at the end still count, so that every caller contributes to the rate.
    while (!error_ && !interrupted_ && !every_caller_counts()) {
      clock_.sleep_for(kLook);
      collect();
      interrupted_ = options_.interrupted && options_.interrupted();
    }
  }

  double precision() const { return half_width_percent(latencies_ms_, options_.stop.confidence); }

  bool every_caller_counts() const {
    if (schedule_.open()) return !latencies_ms_.empty();
    return std::all_of(windows_.begin(), windows_.end(), [](const Window& window) { return window.runs > 0; });
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
    for (const Sample& sample : fresh) warm_ ? count(sample) : warm_up_.add(to_ms(sample.latency));
    if (!warm_) {
      for (const Sample& sample : fresh) add(sample.times), warming_runs_ += sample.runs;
      if (warm_up_.steady(clock_.now() - begin_)) start_counting();
    }
  }

  // In a closed loop, a run that began during warm-up belongs to neither part: half of it is not counted.
  void count(const Sample& sample) {
    if (!schedule_.open() && sample.begin < counting_from_) return;
    if (latencies_ms_.empty()) sum_ = {}, timed_ = 0;
    latencies_ms_.push_back(to_ms(sample.latency));
    if (schedule_.open())
      running_ += sample.end - sample.begin, queueing_ += sample.latency - (sample.end - sample.begin);
    whose_.push_back(static_cast<int>(sample.caller));
    add(sample.times);
    Window& window = windows_[sample.caller];
    if (window.runs == 0) window.begin = sample.begin;
    window.runs += sample.runs;
    window.end = sample.end;
  }

  void add(const std::optional<engine::RunTimes>& times) {
    if (!times) return;
    sum_.input += times->input;
    sum_.compute += times->compute;
    sum_.output += times->output;
    ++timed_;
  }

  // From the end of a request, so that the next one is counted whole.
  void start_counting() {
    warm_ = true;
    counting_from_ = last_end_;
    if (options_.counting_begins) options_.counting_begins();
  }

  LoadResult result() const {
    LoadResult result;
    result.latencies_ms = latencies_ms_.empty() ? warm_up_.latencies() : latencies_ms_;
    result.half_width_percent = precision();
    result.verdict = verdict_;
    result.interrupted = interrupted_;
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

  // In a closed loop: the callers' rates, each over its own whole runs; they end at different moments. In an open one, and
  // after an early interruption: requests over time.
  double rate() const {
    const bool warming = latencies_ms_.empty();
    const Nanoseconds elapsed = last_end_ - (warming ? begin_ : counting_from_);
    const auto requests = static_cast<double>(warming ? warming_runs_ : static_cast<int64_t>(latencies_ms_.size()));
    if (warming || schedule_.open()) return elapsed.count() > 0 ? requests / to_seconds(elapsed) : 0;
    double sum = 0;
    for (const Window& window : windows_) sum += window.rate_per_s();
    return sum;
  }

  const RunOnce& run_once_;
  const LoadOptions& options_;
  Clock& clock_;
  Schedule schedule_;
  std::vector<Caller> callers_;
  std::vector<Window> windows_;  // of the collecting thread
  std::atomic<bool> stop_ = false;
  TimePoint begin_;

  // Of the collecting thread alone.
  WarmUp warm_up_;
  bool warm_;
  TimePoint counting_from_;
  std::vector<double> latencies_ms_;  // of the counted requests
  std::vector<int> whose_;            // the caller of each
  StopRule rule_;
  Verdict verdict_ = Verdict::kContinue;
  bool interrupted_ = false;
  std::optional<Error> error_;
  int64_t warming_runs_ = 0;
  Nanoseconds running_{}, queueing_{};  // of the counted requests of an open loop
  int64_t timed_ = 0;                   // number in sum_
  engine::RunTimes sum_;                // of the counted runs; until there is one, of the warm-up's
  TimePoint last_end_;
};

}  // namespace

Result<LoadResult> run_load(const RunOnce& run_once, const LoadOptions& options, Clock& clock) {
  if (options.concurrency < 1) return Error{Code::kInvalid, "concurrency should be at least 1"};
  if (options.rate_per_s && !(*options.rate_per_s > 0))
    return Error{Code::kInvalid, "the rate should be above 0 per second"};
  return Load(run_once, options, clock).run();
}

}  // namespace ridge::measure
