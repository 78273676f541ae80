// Candidate: one way to run the model, as the tuner varies it. A plain value; to_plan() turns it into what an engine
// opens.
#pragma once

#include <cstdint>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "plan/plan.h"

namespace ridge::tune {

struct Candidate {
  int threads = 0;  // per instance; 0 = the engine's own default
  int instances = 1;
  int64_t batch = 1;
  plan::Spin spin = plan::Spin::kDefault;
  int inter_op_threads = 1;  // > 1: independent operators may run at the same time
  int block_base = 0;        // > 0: an operator's work is cut into shrinking blocks, this many per thread first
                             // (ONNX Runtime's session.dynamic_block_base); 0 = equal blocks

  bool operator==(const Candidate&) const = default;
};

// ONNX Runtime's defaults, which every candidate is compared with: one session, batch 1, its own choice of threads.
inline Candidate baseline_candidate() { return {}; }

// Unique text of a candidate; key in the store: "threads=2 instances=1 batch=8 spin=off".
std::string text(const Candidate& candidate);
// The same for people, without what is default: "2 threads × 1 instance, batch 8, no spinning".
std::string describe(const Candidate& candidate);

// `base` (model, engine, shapes bound to batch 1) with the candidate's decisions; the first dimension of every shape is
// multiplied by the batch.
plan::Plan to_plan(const Candidate& candidate, const plan::Plan& base);

Json to_json(const Candidate& candidate);

}  // namespace ridge::tune
