// Statistics of one model version since it was loaded: what the statistics extension and the metrics report.
//
// Per request: success, queue and compute durations, one record each; in a merged batch every request is given the
// whole batch's compute time. Per row: inference_count. Per execution: execution_count and one entry of the batch
// sizes. A request that failed counts as a failure with its reason and in nothing else.
// Thread-safe; one short lock per batch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "serve/job.h"
#include "serve/service.h"

namespace ridge::serve {

// Times of one execution.
struct BatchTimes {
  TimePoint started;        // taken from the queue
  TimePoint inputs_ready;   // inputs assembled
  TimePoint computed;       // engine done
  TimePoint outputs_ready;  // answers written
};

class Statistics {
 public:
  Statistics();
  // One execution. Its requests succeeded but for those with a failure of their own. `jobs` still have rows, queued and
  // request.arrived.
  void record_execution(std::span<const JobPtr> jobs, const BatchTimes& times, uint64_t now_ms_since_epoch);
  // A successful request to an ensemble, as Triton counts it: one execution with the steps' sums, no queue time.
  void record_ensemble(uint64_t rows, Nanoseconds latency, const ComputeTimes& times, uint64_t now_ms_since_epoch);
  // `count` requests that failed for that reason after `total` time in the server, summed.
  void record_failures(FailureReason reason, uint64_t count, Nanoseconds total);
  // A request that the cache answered after that time in the server, of which the look-up took `look_up`.
  void record_cache_hit(Nanoseconds latency, Nanoseconds look_up);
  // `count` requests that it did not answer; time of looking up, or of keeping the answer.
  void record_cache_miss(uint64_t count, Nanoseconds time);
  // Everything but name, version, pending, load time, tags, bound and files.
  ModelStatistics snapshot() const;

 private:
  BatchStatistic& batch_entry(uint64_t rows) RIDGE_REQUIRES(mutex_);

  mutable Mutex mutex_;
  ModelStatistics counters_ RIDGE_GUARDED_BY(mutex_);  // its histograms are not cumulative here
};

}  // namespace ridge::serve
