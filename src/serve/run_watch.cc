#include "serve/run_watch.h"

#include <algorithm>
#include <utility>

namespace ridge::serve {

std::optional<TimePoint> RunWatch::begin(size_t instance, std::span<const JobPtr> jobs, uint64_t ticket,
                                         TimePoint now) {
  if (!watches()) return std::nullopt;
  MutexLock lock(mutex_);
  runs_[instance] = {State::kRunning, now + limit_, jobs, ticket};
  if (next_check_ && *next_check_ <= runs_[instance].due) return std::nullopt;
  return next_check_ = runs_[instance].due;
}

RunWatch::End RunWatch::end(size_t instance) {
  if (!watches()) return End::kInTime;
  MutexLock lock(mutex_);
  while (runs_[instance].state == State::kBreakingOff) changed_.wait(lock);
  const State state = runs_[instance].state;
  if (state == State::kGivenUp) return End::kGivenUp;
  runs_[instance] = {};
  return state == State::kBrokenOff ? End::kBrokenOff : End::kInTime;
}

RunWatch::Overdue RunWatch::check(TimePoint now) {
  Overdue overdue;
  MutexLock lock(mutex_);
  if (next_check_ && now >= *next_check_) next_check_.reset();
  std::optional<TimePoint> next;
  for (size_t instance = 0; instance < runs_.size(); ++instance) {
    Run& run = runs_[instance];
    if (run.state == State::kRunning && now >= run.due) {
      run.state = State::kBreakingOff;
      run.due = now + kBreakOffTime;
      overdue.to_break_off.push_back(instance);
    } else if (run.state == State::kBrokenOff && now >= run.due) {
      run.state = State::kGivenUp;
      GivenUp& given_up = overdue.given_up.emplace_back(GivenUp{instance, run.ticket, {}, {}});
      for (const JobPtr& job : run.jobs) {
        given_up.time_in_server += now - job->request.arrived;
        given_up.requests.push_back(std::exchange(job->done, nullptr));
      }
    }
    if (run.state == State::kIdle || run.state == State::kGivenUp) continue;
    next = next ? std::min(*next, run.due) : run.due;
  }
  if (next && (!next_check_ || *next < *next_check_)) overdue.next = next_check_ = next;
  return overdue;
}

void RunWatch::broken_off(size_t instance) {
  {
    MutexLock lock(mutex_);
    runs_[instance].state = State::kBrokenOff;
  }
  changed_.notify_all();
}

}  // namespace ridge::serve
