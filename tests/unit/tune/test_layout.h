// For tests of this folder: a candidate by its layout alone.
#pragma once

#include <cstdint>

#include "tune/candidate.h"

namespace ridge::tune {

inline Candidate laid_out(int threads, int instances, int64_t batch) {
  Candidate candidate;
  candidate.threads = threads;
  candidate.instances = instances;
  candidate.batch = batch;
  return candidate;
}

}  // namespace ridge::tune
