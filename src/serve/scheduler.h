// Scheduler: hands the waiting jobs of one model version to its workers, batch by batch.
//
// Thread-safe. submit() never waits for work to be done; its lock is held for the time of a few list operations, as are
// the others'. Wake-ups are few: a job wakes a worker only if one is idle, the policy wants a batch to run now, and no
// worker that will see the job is already on its way; a worker that leaves jobs behind wakes the next one itself.
//
// When a batch is due while other workers sleep, it is spread evenly over all of them: half a batch on each of two instances is
// done sooner than a whole one on the first while the second sleeps. Under load nobody sleeps, and batches are whole.
#pragma once

#include <cstdint>
#include <deque>

#include "base/mutex.h"
#include "serve/request_queue.h"

namespace ridge::serve {

struct Batch {
  Jobs jobs;
  uint64_t ticket = 0;  // consecutive from 0, in the order in which batches were taken
};

class Scheduler {
 public:
  Scheduler(QueueSettings settings, bool always_merge) : queue_(std::move(settings), always_merge) {}

  // Takes the job, or refuses and leaves it: the queue's reasons, or kUnavailable after close(). The value says when
  // expire() must be called at the latest, if that is earlier than any submit() has said since the last expire().
  Result<TimePoint> submit(JobPtr& job);
  // Waits for a batch; replaces `batch`. False: closed, and nothing waits any more.
  bool take(Batch& batch);
  // Appends the jobs whose deadline has passed. Returns when to call again (TimePoint::max(): not needed).
  TimePoint expire(TimePoint now, Jobs& expired);
  // Refuses new jobs; what waits is handed out without delay.
  void close();
  size_t waiting() const;

 private:
  BatchDecision decide(TimePoint now) const RIDGE_REQUIRES(mutex_);
  int spread(Jobs& jobs) RIDGE_REQUIRES(mutex_);
  bool should_wake(const BatchDecision& decision) const RIDGE_REQUIRES(mutex_);
  void sleep(MutexLock& lock, const BatchDecision& decision) RIDGE_REQUIRES(mutex_);

  mutable Mutex mutex_;
  ConditionVariable work_;
  RequestQueue queue_ RIDGE_GUARDED_BY(mutex_);
  std::deque<Batch> spread_ RIDGE_GUARDED_BY(mutex_);  // parts of batches for the workers that were woken for them
  uint64_t next_ticket_ RIDGE_GUARDED_BY(mutex_) = 0;
  int idle_ RIDGE_GUARDED_BY(mutex_) = 0;   // workers that sleep, woken ones included until they run
  int woken_ RIDGE_GUARDED_BY(mutex_) = 0;  // of these, workers that were notified and have not run yet
  int timed_ RIDGE_GUARDED_BY(mutex_) = 0;  // of these, workers that sleep until a batch is due
  TimePoint announced_ RIDGE_GUARDED_BY(mutex_) =
      TimePoint::max();  // the earliest deadline that submit() or expire() has said
  bool closed_ RIDGE_GUARDED_BY(mutex_) = false;
};

}  // namespace ridge::serve
