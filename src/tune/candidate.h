// Candidate: one way to run the model, as the tuner varies it. A plain value; to_plan() makes the engine's plan.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "base/fields.h"
#include "base/result.h"
#include "plan/plan.h"
#include "tune/implementation.h"

namespace ridge::tune {

struct Candidate {
  std::string engine = {};       // empty = the base plan's
  std::string variant = "fp32";  // Implementation::variant
  int threads = 0;               // per instance; 0 = the engine's own default
  int instances = 1;
  int64_t batch = 1;
  plan::Spin spin = plan::Spin::kDefault;
  int inter_op_threads = 1;  // > 1: independent operators may run at the same time
  int block_base = 0;        // > 0: an operator's work is cut into shrinking blocks, this many per thread first
                             // (ONNX Runtime's session.dynamic_block_base); 0 = equal blocks
  std::map<std::string, std::string> options = {};  // of the engine, on a GPU: "cuda.enable_cuda_graph" = "1"

  bool operator==(const Candidate&) const = default;
};
void visit_fields(auto& visit, Is<Candidate> auto& candidate) {
  visit.unless_empty("engine", candidate.engine);
  visit.optional("variant", candidate.variant);
  visit.optional("threads", candidate.threads, at_least(0));
  visit.optional("instances", candidate.instances, at_least(1));
  visit.optional("batch", candidate.batch, at_least(1));
  visit.optional("spin", candidate.spin);
  visit.optional("inter_op_threads", candidate.inter_op_threads);
  visit.optional("block_base", candidate.block_base);
  visit.unless_empty("options", candidate.options);
}

// ONNX Runtime's defaults, the reference for every candidate: one session, batch 1, its own choice of threads.
inline Candidate baseline_candidate() { return {}; }

// Unique text of a candidate; key in the store: "threads=2 instances=1 batch=8 spin=off", and its engine and variant
// where they are not the baseline's.
std::string text(const Candidate& candidate);
// The same for people, without defaults: "2 threads × 1 instance, batch 8, no spinning".
std::string describe(const Candidate& candidate);
// Always names the engine and the precision: "OpenVINO INT8, batch 32, 2 × 1 thread". `base`: the base plan's engine.
std::string settings(const Candidate& candidate, std::string_view base);

// The engine that the candidate runs in; `base`: the base plan's.
std::string_view engine_of(const Candidate& candidate, std::string_view base);
// True if the candidate runs this implementation.
bool runs(const Candidate& candidate, const Implementation& implementation, std::string_view base_engine);

// The candidate's entry in `implementations`, whose first is the baseline's: the original model in the base plan's
// engine. Null if missing.
const Implementation* implementation_of(const Candidate& candidate, std::span<const Implementation> implementations);

// `base` (model, engine, shapes bound to batch 1) with the candidate's decisions; the first dimension of every shape is
// multiplied by the batch. `implementations` as for implementation_of().
plan::Plan to_plan(const Candidate& candidate, const plan::Plan& base,
                   std::span<const Implementation> implementations = {});

Json to_json(const Candidate& candidate);

}  // namespace ridge::tune
