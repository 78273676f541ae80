// ServingConfig: how the tuned model should be served, and its text as config.pbtxt (Triton's inference::ModelConfig).
//
// Parameters carry the names of Triton's onnxruntime backend (intra_op_thread_count, inter_op_thread_count,
// execution_mode) and ONNX Runtime's own session configuration keys (session.intra_op.allow_spinning,
// session.dynamic_block_base, …).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/tensor.h"
#include "engine/engine.h"
#include "tune/candidate.h"

namespace ridge::tune {

struct DynamicBatching {
  std::vector<int64_t> preferred_batch_sizes;
  int64_t max_queue_delay_us = 0;
};

struct ServingConfig {
  std::string name;
  int64_t max_batch_size = 0;               // 0 = requests carry whole tensors
  std::vector<TensorSpec> inputs, outputs;  // dims as in the file: without the batch where max_batch_size > 0
  int instances = 1;
  std::optional<DynamicBatching> batching;
  std::vector<std::pair<std::string, std::string>> parameters;
};

// What the decision rests on.
struct ServingFacts {
  std::string name;
  engine::Signature signature;
  Candidate best;
  bool batches = false;        // rows of one run are independent: requests may be merged
  int64_t verified_batch = 1;  // the largest that ran and met the goal
  double run_ms = 0;           // p50 of one run of `best`
  double run_p99_ms = 0;
  std::optional<double> p99_goal_ms;
  std::map<std::string, std::string> engine_options;  // that every candidate had, besides its own
};

// max_batch_size: the best batch, but at least 8 as far as the model was seen to run it, so that clients may send small
// batches of their own. dynamic_batching only where a batch above 1 was best; its delay is a tenth of a run, and at
// most what the p99 goal leaves.
ServingConfig serving_config(const ServingFacts& facts);

std::string config_text(const ServingConfig& config);

}  // namespace ridge::tune
