// Shadows: versions that get copies of the requests which another version of their model answers, so that a new one can
// be judged under the real load before any client has its answers. Theirs are compared and dropped.
//
// A copy is sent once the client has its answer, and only while few are under way: no request waits for one but by the
// machine's time for it. Requests with shared memory, of sequences, or for classes are not copied. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "serve/servable.h"
#include "serve/service.h"

namespace ridge::serve {

struct ShadowRoute {
  std::string model;
  int64_t version = 0;  // that gets the copies
  double share = 1;     // of the requests that others answer
};

// "MODEL:VERSION" or "MODEL:VERSION:PERCENT". kInvalid.
Result<ShadowRoute> parse_shadow_route(const std::string& text);

// How far a shadow's outputs are from those that the client got: of each tensor of FP32, FP64 or BF16 the distance ‖a −
// b‖ / ‖a‖ (Euclidean, a: the client's; 0 where both are all zeros), the largest of all; infinity where names, types or
// shapes differ, or values of other types.
double difference(const InferResponse& answered, const InferResponse& shadow);

class Shadows : public std::enable_shared_from_this<Shadows> {
 public:
  using Find = std::function<Result<VersionPtr>(const std::string& model, int64_t version)>;
  // `find` gives the version that serves; `clock` outlives it.
  Shadows(std::vector<ShadowRoute> routes, Clock& clock, Find find);

  // Takes the place of `done`: to be called with the answer of the version `answering`.
  InferDone beside(const InferRequest& request, const Servable& answering, InferDone done);
  std::vector<ShadowStatistics> statistics() const;
  // A line of the log for each that has compared anything.
  void log_results() const;

 private:
  struct Copy;
  struct Route {
    ShadowRoute shadow;
    ShadowStatistics counts;
    uint64_t requests = 0;  // that others answer
    int under_way = 0;      // copies
    double largest = 0;     // difference
  };
  void send(const std::shared_ptr<Copy>& copy);
  void compare(const Copy& copy, const Result<InferResponse>& shadow);

  Clock& clock_;
  const Find find_;
  mutable Mutex mutex_;
  std::vector<Route> routes_ RIDGE_GUARDED_BY(mutex_);  // fixed at construction
};

}  // namespace ridge::serve
