// Sequences: the open sequences of one model version with sequence batching, and which of their requests may run.
//
// Each instance has a number of slots. A sequence gets one with its first request (START), or waits for one in the
// backlog, in the order of the first requests; it keeps it until it ends, so all its requests run on one instance. Of
// each sequence one request at a time is handed out, in the order in which they came, so a batch never has two of one.
// It ends with the request marked END, or when it had no request for max_idle; START on an open sequence begins it
// again in its slot, after the requests before. A request that was taken and then leaves without a run ends its
// sequence: later ones would be answered as if it had never been sent.
// (Triton's user guide, "Stateful Models" and "Sequence Batcher"; what differs: docs/contracts.md.)
//
// Knows no clock and runs nothing: it returns what is to be done. Thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "serve/job.h"
#include "serve/model_settings.h"

namespace ridge::serve {

struct Sequence {
  SequenceId id;
  size_t instance = 0;
  std::optional<size_t> slot;  // of the instance; none: in the backlog
  std::deque<JobPtr> line;     // requests that wait for those before them, or for the slot
  bool busy = false;           // a request of it has been handed out
  bool closed = false;         // no request joins it any more
  TimePoint last{};            // when a request came or ended
  // One per SequenceSettings::states, without batch dimension; none: the initial ones. The worker's while `busy`.
  std::vector<Tensor> states;
};

// "5", or "'abc'".
std::string sequence_text(const SequenceId& id);

class Sequences {
 public:
  // `size_limit`: of requests in lines.
  Sequences(SequenceSettings settings, size_t instances, size_t size_limit);

  struct Due {
    Jobs run;                             // each on the instance of its sequence
    Jobs unwanted;                        // as remove() was asked
    Jobs lost;                            // their sequence has ended before they ran
    TimePoint expire = TimePoint::max();  // when to call expire(), if not max
  };
  // Rejected: no sequence, not open and no start, several rows (kInvalid); too many wait, or closed (kUnavailable).
  [[nodiscard]] std::optional<Rejection> add(JobPtr job, TimePoint now, Due& due);
  // The request of `sequence` that was handed out has ended; `ran`: on the engine, whatever came of it.
  void end(Sequence& sequence, bool ran, TimePoint now, Due& due);
  // Takes unwanted requests from the lines.
  void remove(const std::function<bool(const Job&)>& unwanted, Due& due);
  // Ends idle sequences, and takes requests whose deadline has passed from the lines.
  void expire(TimePoint now, Due& due);
  // Refuses new requests; sequences without waiting ones end.
  void close(Due& due);
  bool drained() const;  // closed, and all sequences have ended
  bool is_open(const SequenceId& id) const;
  size_t open() const;     // sequences, those in the backlog included
  size_t waiting() const;  // requests in lines

 private:
  Status check(const Job& job) const RIDGE_REQUIRES(mutex_);
  Sequence& sequence_of(const SequencePart& part) RIDGE_REQUIRES(mutex_);
  void seat(std::unique_ptr<Sequence> sequence, size_t instance, size_t slot) RIDGE_REQUIRES(mutex_);
  void advance(Sequence& sequence, Due& due) RIDGE_REQUIRES(mutex_);
  void free_slot(const Sequence& sequence, Due& due) RIDGE_REQUIRES(mutex_);
  void shut(Sequence& sequence) RIDGE_REQUIRES(mutex_);
  void cut(Sequence& sequence, bool losing, const std::function<bool(const Job&)>& unwanted, Due& due)
      RIDGE_REQUIRES(mutex_);
  void filter(const std::function<bool(const Job&)>& unwanted, Due& due) RIDGE_REQUIRES(mutex_);
  std::vector<Sequence*> seated() const RIDGE_REQUIRES(mutex_);
  void call_at(TimePoint when, Due& due) RIDGE_REQUIRES(mutex_);

  const SequenceSettings settings_;
  const size_t instances_, size_limit_;
  mutable Mutex mutex_;
  std::vector<std::unique_ptr<Sequence>> slots_ RIDGE_GUARDED_BY(mutex_);  // [slot, instance]; null: free
  std::deque<std::unique_ptr<Sequence>> backlog_ RIDGE_GUARDED_BY(mutex_);
  std::map<SequenceId, Sequence*> open_ RIDGE_GUARDED_BY(mutex_);  // those that requests may join
  size_t waiting_ RIDGE_GUARDED_BY(mutex_) = 0;
  bool closed_ RIDGE_GUARDED_BY(mutex_) = false;
  TimePoint alarm_ RIDGE_GUARDED_BY(mutex_) = TimePoint::max();  // the earliest requested call of expire()
};

}  // namespace ridge::serve
