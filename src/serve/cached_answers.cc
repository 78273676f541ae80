#include "serve/cached_answers.h"

#include <utility>

namespace ridge::serve {

bool answer_from_cache(ResponseCache& cache, uint64_t owner, const ModelSettings& settings, Statistics& statistics,
                       const Clock& clock, JobPtr& job) {
  const TimePoint begin = clock.now();
  CacheKey key = cache_key_of(*job, owner);
  std::optional<std::vector<ResponseOutput>> outputs = cache.find(key);
  const TimePoint end = clock.now();
  if (!outputs) {
    statistics.record_cache_miss(1, end - begin);
    job->cache_key = std::move(key);
    return false;
  }
  statistics.record_cache_hit(end - job->request.arrived, end - begin);
  InferResponse answer{settings.name, settings.version, std::move(job->request.id), std::move(*outputs)};
  finish(std::move(job), std::move(answer));
  return true;
}

void keep_answer(ResponseCache& cache, Statistics& statistics, const Clock& clock, const Job& job,
                 const InferResponse& answer) {
  const TimePoint begin = clock.now();
  cache.insert(*job.cache_key, answer.outputs);
  statistics.record_cache_miss(0, clock.now() - begin);
}

}  // namespace ridge::serve
