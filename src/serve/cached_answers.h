// A version's use of the response cache: answers a request from it, and keeps its own answers there, with the times in
// its statistics.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "serve/job.h"
#include "serve/model_settings.h"
#include "serve/response_cache.h"
#include "serve/statistics.h"

namespace ridge::serve {

// True if the job was answered, and is gone. Else it has the key under which keep_answer() puts its answer.
bool answer_from_cache(ResponseCache& cache, uint64_t owner, const ModelSettings& settings, Statistics& statistics,
                       const Clock& clock, JobPtr& job);
// Keeps the answer of a job with a key.
void keep_answer(ResponseCache& cache, Statistics& statistics, const Clock& clock, const Job& job,
                 const InferResponse& answer);

}  // namespace ridge::serve
