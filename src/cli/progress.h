// Shows how far a computation is: on a terminal one line, redrawn; elsewhere a line now and then, on stderr.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "base/clock.h"

namespace ridge::cli {

constexpr double kUnknownShare = -1;

// Content of the progress line. Pure: the time is an argument. One thread.
class ProgressState {
 public:
  ProgressState(std::string_view what, TimePoint now);
  // `share_done` from 0 to 1. kUnknownShare, or 1 while it still goes on: not known.
  void update(std::string_view step, double share_done, TimePoint now);

  // "tune  [####......]  42 %  35 s, about 50 s left  int8, batch 8", cut to `columns`. The remaining time follows from
  // the speed since the share last began at its lowest, and is left out while that is less than 2 s or 3 % ago.
  std::string bar(TimePoint now, size_t columns) const;
  // Without a terminal: "tune: 42 %, 35 s, about 50 s left: int8, batch 8" per new step, at most every 5 s.
  std::optional<std::string> due_line(TimePoint now);

 private:
  struct Mark {
    TimePoint at;
    double share = 0;
  };
  std::string times(TimePoint now) const;
  std::optional<double> remaining_s(TimePoint now) const;

  std::string what_, step_, last_step_;
  TimePoint started_;
  std::optional<Mark> now_, from_;  // absent: the share is not known
  bool began_again_ = false;        // the share fell: what it is of is one part of several
  std::optional<TimePoint> last_line_;
};

// Shows it until finish(). Nothing with --quiet, nor for what takes no longer than half a second. Thread-safe: on a
// terminal a thread redraws the line every second.
class Progress {
 public:
  explicit Progress(std::string_view what);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void update(std::string_view step, double share_done);
  void finish();

 private:
  void draw(bool at_once);

  const bool shown_, terminal_;
  const TimePoint started_;
  Mutex mutex_;
  ProgressState state_ RIDGE_GUARDED_BY(mutex_);
  TimePoint drawn_at_ RIDGE_GUARDED_BY(mutex_);
  bool finished_ RIDGE_GUARDED_BY(mutex_) = false;
  std::jthread ticker_;  // last: it uses the rest
};

// Removes the line of a Progress from the terminal, before something else is written; it comes back with its next
// drawing. Thread-safe.
void erase_progress();

}  // namespace ridge::cli
