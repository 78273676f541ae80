// Scheduler: hands the waiting jobs of one model version to its workers, batch by batch.
//
// Thread-safe. submit() never waits for work to be done; its lock, like the others', is held for a few list operations.
// Wake-ups are few: a job wakes a worker only if one is idle, the policy starts a batch now, and no other woken worker
// will see the job; a worker that leaves jobs behind wakes the next one itself.
//
// A batch due while other workers sleep is distributed evenly over all of them: half a batch on each of two instances
// is done sooner than a whole one on the first. Under load no worker sleeps, and batches are whole.
//
// A thread that has brought jobs, and would else only wake the worker for them, may run them in its place: it borrows
// the worker's batch. For short runs that is sooner done than waking another thread. The worker sleeps meanwhile.
//
// It measures how long workers take for their batches, and refuses a job with a deadline that by this will not be met
// (outlook.h). While a worker sleeps no job is refused: it would run at once. So a prediction that is too high is
// measured again, and corrects itself.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "serve/arrivals.h"
#include "serve/request_queue.h"
#include "serve/service_times.h"

namespace ridge::serve {

// Runs short enough for a thread that reads requests: no longer than waking another and being woken by it can take, and
// the answers' part of it.
constexpr std::chrono::microseconds kShortRun{50}, kShortRunPerRequest{3};

struct Batch {
  Jobs jobs;      // those still wanted; perhaps none
  Jobs unwanted;  // taken with them, but their clients have left or will not wait for an answer
  // Consecutive from 0, in the order in which batches were taken; of none yet, the highest number.
  uint64_t ticket = std::numeric_limits<uint64_t>::max();
};

class Scheduler {
 public:
  using CallAt = std::function<void(TimePoint)>;
  // `always_merge` as in RequestQueue; `clock` outlives it. `call_expire_at` has expire() called at that moment; it is
  // called without the lock, by submit() and expire(), and only for jobs that have a deadline.
  Scheduler(QueueSettings settings, bool always_merge, Clock& clock, CallAt call_expire_at)
      : clock_(clock), call_expire_at_(std::move(call_expire_at)), queue_(std::move(settings), always_merge) {}

  // Owns the job until take() or expire() hands it out. Returns a rejected job: for the queue's reasons, or with
  // kUnavailable after close(), and where its deadline is not going to be met.
  // `in_round`: the caller calls wake() after this and others.
  [[nodiscard]] std::optional<Rejection> submit(JobPtr job, bool in_round = false);
  // Wakes a worker if there is a batch for it.
  void wake();
  // Called by the only worker, while it sleeps: takes a batch that is due and expected to be short. Replaces the
  // caller's last one, which thereby ends. False: nothing is due; then give_back() follows the last one.
  bool borrow(Batch& batch);
  void give_back(const Batch& batch);
  // Waits for a batch; replaces `batch`, the worker's last one, which thereby ends. False: closed, and nothing waits.
  bool take(Batch& batch);
  // The jobs whose deadline has passed; they are no longer here.
  Jobs expire(TimePoint now);
  // The waiting jobs that are `unwanted`; they are no longer here.
  Jobs remove(const std::function<bool(const Job&)>& unwanted);
  // Batches are no longer delayed: no more requests are to come.
  void hurry();
  // Refuses new jobs; waiting ones are handed out without delay.
  void close();
  size_t waiting() const;

 private:
  struct Running {
    uint64_t ticket = 0;
    int64_t rows = 0;
    TimePoint begun{};
  };
  BatchDecision decide(TimePoint now, int takers_asleep) const RIDGE_REQUIRES(mutex_);
  void begin_run(const Batch& batch, TimePoint now) RIDGE_REQUIRES(mutex_);
  void end_run(const Batch& batch, TimePoint now) RIDGE_REQUIRES(mutex_);
  void note_whole_batch(size_t requests) RIDGE_REQUIRES(mutex_);
  double requests_per_batch() const RIDGE_REQUIRES(mutex_);
  std::vector<Nanoseconds> free_in(TimePoint now) const RIDGE_REQUIRES(mutex_);
  Status check_deadline(const Job& job, TimePoint now) const RIDGE_REQUIRES(mutex_);
  TimePoint new_alarm() RIDGE_REQUIRES(mutex_);
  static void set_unwanted_apart(Batch& batch, TimePoint now);
  int spread(Jobs& jobs) RIDGE_REQUIRES(mutex_);
  void take_whole(const BatchDecision& decision, Batch& batch) RIDGE_REQUIRES(mutex_);
  bool should_wake(const BatchDecision& decision) const RIDGE_REQUIRES(mutex_);
  bool notes_wake() RIDGE_REQUIRES(mutex_);
  void sleep(MutexLock& lock, const BatchDecision& decision) RIDGE_REQUIRES(mutex_);
  bool is_due(const BatchDecision& decision) const RIDGE_REQUIRES(mutex_);
  bool await_due(MutexLock& lock, BatchDecision& decision) RIDGE_REQUIRES(mutex_);

  Clock& clock_;
  const CallAt call_expire_at_;
  mutable Mutex mutex_;
  ConditionVariable work_;
  RequestQueue queue_ RIDGE_GUARDED_BY(mutex_);
  std::deque<Batch> spread_ RIDGE_GUARDED_BY(mutex_);  // parts of batches for the workers that were woken for them
  uint64_t next_ticket_ RIDGE_GUARDED_BY(mutex_) = 0;
  bool closed_ RIDGE_GUARDED_BY(mutex_) = false;
  bool hurried_ RIDGE_GUARDED_BY(mutex_) = false;
  TimePoint alarm_ RIDGE_GUARDED_BY(mutex_) = TimePoint::max();  // the earliest requested call of expire()
  int asleep_ RIDGE_GUARDED_BY(mutex_) = 0;                      // workers, notified ones included until they run
  int notified_ RIDGE_GUARDED_BY(mutex_) = 0;                    // of these
  bool lent_ RIDGE_GUARDED_BY(mutex_) = false;                   // the only worker's turn
  // One of them sleeps only until then, when a batch is due.
  TimePoint timed_until_ RIDGE_GUARDED_BY(mutex_) = TimePoint::max();
  // For predictions.
  std::vector<Running> running_ RIDGE_GUARDED_BY(mutex_);
  ServiceTimes times_ RIDGE_GUARDED_BY(mutex_);
  Arrivals arrivals_ RIDGE_GUARDED_BY(mutex_);  // of jobs, refused ones included
  double requests_per_batch_ RIDGE_GUARDED_BY(mutex_) =
      0;  // moving mean, of batches that left jobs behind; 0: there was none
};

}  // namespace ridge::serve
