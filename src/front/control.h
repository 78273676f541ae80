// The repository calls of all protocols: who answers them, and how they fail.
//
// ControlThreads is thread-safe; the functions are as Service.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "front/job_threads.h"
#include "serve/service.h"

namespace ridge::front {

// An operator's calls, not traffic. Its end waits for calls that run and drops others; what they use outlives it.
struct ControlThreads {
  static constexpr size_t kMostWaiting = 64;
  static constexpr size_t kLoads = 4;  // as at start; a load that takes long does not hold up the others

  JobThreads loads{"load", kLoads, kMostWaiting};  // load, which may take minutes; some at a time
  JobThreads control{"control", 1, kMostWaiting};  // index, unload and regions, which do not wait for it
};

// For one more call than may wait.
Error too_many_calls();

// Why no load can begin soon: all that may go on at a time warm up models, and have for long. Absent: one can.
std::optional<Error> no_load_is_possible(const serve::Service& service);

// Clients look for its text on every failed load.
Error load_failed(const std::string& model, Error why);

}  // namespace ridge::front
