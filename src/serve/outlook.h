// Predicts for a request that joins a queue now the time until its run begins, and the time of that run. Pure.
//
// The requests before it leave in batches of `requests_per_batch`; an instance that has finished takes the next. So of
// n instances the k-th batch (from 0) is begun when instance k mod n, in the order in which they become free, has run k
// / n batches. The request's own batch has the rest of those before it and the arrivals meanwhile, up to the size that
// answers most by such a deadline. Times are high ones: under overload a longer wait than predicted makes a whole batch
// late, a shorter one costs nothing while the queue is not empty. Not foreseen: requests of a higher priority that come
// later.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "serve/service_times.h"

namespace ridge::serve {

struct Ahead {  // waiting requests
  size_t requests = 0;
  int64_t rows = 0;
};

struct QueueLoad {
  std::vector<Nanoseconds> free_in;  // per instance: time until it takes a batch; at least one
  double requests_per_batch = 1;     // while more wait
  int64_t rows_per_batch = 1;        // at most, but a request's own
  Nanoseconds gap{};                 // between arrivals
};

struct Outlook {
  Nanoseconds wait{}, run{};
};

// The limits of a request, from now; Nanoseconds::max(): none.
struct TimeLimits {
  Nanoseconds in_queue = Nanoseconds::max();  // its run has begun by then
  Nanoseconds answer = Nanoseconds::max();    // it is answered by then
};

// Outlook of a request of `rows` rows behind those `ahead`.
Outlook outlook_of(int64_t rows, const Ahead& ahead, QueueLoad load, const TimeLimits& limits,
                   const ServiceTimes& times);
// kUnavailable, with the prediction and the time until the queue is short enough: the limits are not met.
Status check_outlook(const Outlook& outlook, const TimeLimits& limits, const std::string& model);

}  // namespace ridge::serve
