// BatchPolicy decides when waiting requests become a batch, and of how many. A state machine fed with numbers: it knows
// rows and times, not requests, clocks or threads.
//
// It is given the waiting requests in the order in which they will run, and follows the longest run of them from the
// front that may share one execution: equal shapes beyond the batch dimension and at most max_rows together. A batch is
// due at once when it cannot grow (full, or the next request does not fit), when it reaches a preferred size, or when
// the delay is 0; otherwise when its oldest request has waited max_delay. A larger preferred size is taken before a
// smaller one; a batch that cannot grow or is overdue is taken whole. (Triton's user guide, "Dynamic Batcher";
// acceptance: docs/contracts.md.) No batch is delayed so long that one of its requests could not be answered by its
// deadline. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/clock.h"

namespace ridge::serve {

struct BatchLimits {
  bool merge = false;              // false: every request runs alone
  int64_t max_rows = 1;            // of one execution, when merging
  std::vector<int64_t> preferred;  // [rows], each at most max_rows
  Nanoseconds max_delay{0};        // how long a request may wait for company; adaptive and 0: as long as it pays
  bool adaptive = false;           // it waits only while that pays
};

// Measured times for the batch that forms.
struct BatchPace {
  Nanoseconds run{};                              // that it will take
  TimePoint delay_pays_until = TimePoint::max();  // adaptive only: when it should start, even if nothing more comes
};

struct BatchDecision {
  enum class Action { kNothing, kWait, kRun };
  Action action = Action::kNothing;
  size_t requests = 0;  // kRun: how many from the front
  TimePoint until{};    // kWait: when to ask again, unless a request is added before
};

class BatchPolicy {
 public:
  explicit BatchPolicy(BatchLimits limits) : limits_(std::move(limits)) {}

  // The next waiting request: its rows, whether it may share an execution with the first one, since when it waits, and
  // by when it has to be answered.
  void add(int64_t rows, bool fits_first, TimePoint queued, TimePoint answer_by = TimePoint::max());
  // Nothing that would be added can change the decision any more.
  bool closed() const { return closed_; }
  // Forgets all requests; the caller then adds those that still wait.
  void clear();

  BatchDecision decide(TimePoint now, const BatchPace& pace = {}) const;
  // Size of the batch that forms.
  size_t requests() const { return requests_; }
  int64_t rows() const { return rows_; }
  TimePoint answer_by() const { return answer_by_; }

 private:
  TimePoint start_by(const BatchPace& pace) const;
  bool is_preferred(int64_t rows) const;

  BatchLimits limits_;
  size_t requests_ = 0;
  int64_t rows_ = 0;
  size_t preferred_requests_ = 0;  // the largest front part whose rows are a preferred size
  bool closed_ = false;
  TimePoint oldest_ = TimePoint::max();
  TimePoint answer_by_ = TimePoint::max();  // the earliest
};

}  // namespace ridge::serve
