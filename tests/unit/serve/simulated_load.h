// For tests: one instance of a model under an open load, through the real Scheduler, on one thread and in no time.
// Waiting, in the scheduler and for a run, lets the time pass and the requests come.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <random>
#include <vector>

#include "base/clock.h"
#include "serve/scheduler.h"

namespace ridge::serve {

struct SimulatedRequest {
  Nanoseconds at{};                   // from the begin
  std::optional<Nanoseconds> answer;  // time from then to its answer, if it was run
  bool refused = false;               // at once
};

struct SimulatedLoad {
  QueueSettings queue;
  Nanoseconds deadline{};  // of every request; the scheduler knows it if `tells_deadline`
  bool tells_deadline = true;
  std::function<Nanoseconds(int64_t rows, Nanoseconds at)> run_time;
  std::vector<SimulatedRequest> requests;  // of one row each, in their order
};

// Times of a Poisson process of that rate, from `begin` to `end`.
inline void add_poisson(std::vector<SimulatedRequest>& requests, double per_s, Nanoseconds begin, Nanoseconds end,
                        std::mt19937_64& random) {
  std::exponential_distribution<double> gap(per_s);
  for (Nanoseconds at = begin + from_seconds(gap(random)); at < end; at += from_seconds(gap(random)))
    requests.push_back({at, {}, false});
}

class Simulation final : public Clock {
 public:
  explicit Simulation(SimulatedLoad load)
      : load_(std::move(load)), scheduler_(load_.queue, true, *this, [this](TimePoint due) { alarms_[due] = true; }) {}

  // The requests with what became of them.
  std::vector<SimulatedRequest> run() {
    Batch batch;
    while (scheduler_.take(batch)) {
      const Nanoseconds time = load_.run_time(static_cast<int64_t>(batch.jobs.size()), now_ - kBegin);
      if (!batch.jobs.empty()) pass_until(now_ + time);
      for (const JobPtr& job : batch.jobs) {
        SimulatedRequest& request = load_.requests[static_cast<size_t>(job->request.version)];
        request.answer = now_ - kBegin - request.at;
      }
    }
    return std::move(load_.requests);
  }

  TimePoint now() const override { return now_; }
  void sleep_until(TimePoint due) override { pass_until(due); }
  void wait_until(ConditionVariable&, MutexLock& held, TimePoint due) override {
    held.unlock();
    if (const TimePoint next = std::min(due, next_event()); next != TimePoint::max())
      pass_until(next);
    else
      scheduler_.close();
    held.lock();
  }

 private:
  static constexpr TimePoint kBegin{std::chrono::hours(1)};

  TimePoint next_event() const {
    const TimePoint arrival = next_ < load_.requests.size() ? kBegin + load_.requests[next_].at : TimePoint::max();
    return alarms_.empty() ? arrival : std::min(arrival, alarms_.begin()->first);
  }
  void pass_until(TimePoint due) {
    for (TimePoint event = next_event(); event <= due; event = next_event()) {
      now_ = std::max(now_, event);
      if (!alarms_.empty() && alarms_.begin()->first == event) {
        alarms_.erase(alarms_.begin());
        scheduler_.expire(now_);
      } else {
        arrive();
      }
    }
    now_ = std::max(now_, due);
  }
  void arrive() {
    auto job = std::make_unique<Job>();
    job->request.model = "m";
    job->request.version = static_cast<int64_t>(next_);
    if (load_.tells_deadline) job->request.deadline = now_ + load_.deadline;
    const bool refused = scheduler_.submit(std::move(job)).has_value();
    load_.requests[next_++].refused = refused;
  }

  SimulatedLoad load_;
  TimePoint now_ = kBegin;
  size_t next_ = 0;  // of the requests
  std::map<TimePoint, bool> alarms_;
  Scheduler scheduler_;
};

}  // namespace ridge::serve
