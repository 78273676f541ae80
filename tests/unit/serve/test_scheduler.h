// For tests of this folder: jobs without requests, and queues that merge them.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <memory>

#include "serve/job.h"
#include "serve/model_settings.h"

namespace ridge::serve {

inline JobPtr plain_job(int64_t rows = 1) {
  auto job = std::make_unique<Job>();
  job->request.model = "m";
  job->rows = rows;
  return job;
}

// For queues without timeouts.
inline void no_deadlines(TimePoint) { ADD_FAILURE() << "no job has a deadline"; }

// Waits until `count` is `wanted`; every change notifies.
inline void await(const std::atomic<int>& count, int wanted) {
  for (int seen = count; seen < wanted; seen = count) count.wait(seen);
}

inline QueueSettings merging(int64_t max_rows, Nanoseconds delay) {
  QueueSettings settings;
  settings.batch = {true, max_rows, {}, delay};
  settings.levels = {{}};
  return settings;
}

}  // namespace ridge::serve
