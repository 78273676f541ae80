// Job: a checked request on its way through queue and worker. A plain value.
//
// It has one owner, the holder of its JobPtr, and owns its resources: the body that holds its inputs, the regions that
// are read and written. The owner passes it on or finishes it; finish() is the end of both.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "serve/response_cache.h"
#include "serve/service.h"

namespace ridge::serve {

struct WantedOutput {
  int index = 0;                              // into ModelSettings::outputs
  int64_t classification = 0;                 // k > 0: the top k classes instead of the tensor
  std::optional<SharedMemoryView> part = {};  // where to write it
};

struct Sequence;

struct Job {
  // Its inputs are in the order of ModelSettings::inputs; an optional one that was left out has type kInvalid.
  InferRequest request;
  InferDone done;
  int64_t rows = 1;                  // batch size; 1 for models that do not batch
  int64_t first_row = 0;             // in its batch; set when that runs
  std::vector<WantedOutput> wanted;  // empty = all, as tensors
  Sequence* sequence = nullptr;      // that it is the next request of; Sequences keeps it until the job has ended
  TimePoint queued{};
  TimePoint deadline = TimePoint::max();   // when it leaves the queue unserved
  TimePoint answer_by = TimePoint::max();  // the request's own deadline
  std::optional<CacheKey> cache_key = {};  // under which its answer is kept
  std::optional<Error> failure = {};       // of this job alone in a run that succeeded: its own memory failed it
};

using JobPtr = std::unique_ptr<Job>;
using Jobs = std::vector<JobPtr>;

// Why a request was not answered with tensors.
enum class FailureReason {
  kQueueFull,      // this, …
  kPredictedLate,  // the prediction said that its deadline would not be met
  kQueueTimeout,
  kRejected,   // … and others are the protocol's REJECTED
  kCancelled,  // its client has left, or its client's deadline has passed
  kBackend,
  kOther,
};

// A job that was not taken, with its owner again, and why.
struct Rejection {
  JobPtr job;
  Error error;
  FailureReason reason = FailureReason::kRejected;
};

// Answers the job and frees it. Lets go of its shared memory before: with the answer the client may free it.
void finish(JobPtr job, Result<InferResponse> answer);

// True if both may run in one execution of a batching model: the same inputs are present, with the same shapes beyond
// the first dimension.
bool mergeable(const Job& a, const Job& b);

}  // namespace ridge::serve
