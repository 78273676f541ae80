// RunWatch: which runs of a version's instances take longer than a limit. First they are broken off; a run that still
// does not end is given up, with its instance: its requests are answered, and its memory stays until it ends.
//
// Thread-safe. A state machine that is fed the time; it calls no engine and answers no request.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "serve/job.h"

namespace ridge::serve {

constexpr std::chrono::seconds kBreakOffTime{5};  // that an engine has to end a run, once it is broken off

class Servable;
struct RunLimit {
  Nanoseconds most{};  // 0: none
  // Called once, when the first instance of a version is given up, with the reason.
  std::function<void(const Servable&, const std::string& reason)> given_up = {};
};

class RunWatch {
 public:
  RunWatch(Nanoseconds limit, size_t instances) : limit_(limit), runs_(limit.count() > 0 ? instances : 0) {}
  bool watches() const { return limit_.count() > 0; }

  // The instance runs these jobs, which stay where they are until end(). When check() is to be called, if it is not
  // already going to be.
  std::optional<TimePoint> begin(size_t instance, std::span<const JobPtr> jobs, uint64_t ticket, TimePoint now);
  enum class End { kInTime, kBrokenOff, kGivenUp };
  // kGivenUp: the jobs have been answered. Waits while the run is being broken off.
  End end(size_t instance);

  struct GivenUp {
    size_t instance = 0;
    uint64_t ticket = 0;
    std::vector<InferDone> requests;  // of its jobs
    Nanoseconds time_in_server{};     // of all of them
  };
  struct Overdue {
    std::vector<size_t> to_break_off;  // instances; followed by broken_off()
    std::vector<GivenUp> given_up;
    std::optional<TimePoint> next;  // check again then
  };
  Overdue check(TimePoint now);
  // The engine has been told.
  void broken_off(size_t instance);

 private:
  enum class State { kIdle, kRunning, kBreakingOff, kBrokenOff, kGivenUp };
  struct Run {
    State state = State::kIdle;
    TimePoint due;  // of the next step
    std::span<const JobPtr> jobs;
    uint64_t ticket = 0;
  };

  const Nanoseconds limit_;
  Mutex mutex_;
  ConditionVariable changed_;
  std::vector<Run> runs_ RIDGE_GUARDED_BY(mutex_);                // per instance
  std::optional<TimePoint> next_check_ RIDGE_GUARDED_BY(mutex_);  // that was asked for
};

}  // namespace ridge::serve
