// ServingConfig: the serving settings of the tuned model, and their text as config.pbtxt.
//
// Parameters carry the names of Triton's backends: onnxruntime's intra_op_thread_count, inter_op_thread_count and
// execution_mode, beside ONNX Runtime's own session configuration keys (session.intra_op.allow_spinning,
// session.dynamic_block_base, …); openvino's INFERENCE_NUM_THREADS and HINT_BF16 (README.md of
// triton-inference-server/openvino_backend), beside OpenVINO's properties as ridge_option_NAME, and ridge_precision,
// for settings without a name in that backend. Threads are those of one instance.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "engine/engine.h"
#include "engine/engines.h"
#include "plan/device.h"
#include "plan/plan.h"
#include "tune/batching.h"
#include "tune/candidate.h"
#include "tune/warmup_data.h"

namespace ridge::tune {

struct DynamicBatching {
  std::vector<int64_t> preferred_batch_sizes;
  int64_t max_queue_delay_us = 0;
};

struct ServingConfig {
  std::string name;
  std::string backend = plan::kUsualEngine;  // Triton's name of the engine
  int64_t max_batch_size = 0;                // 0 = requests carry whole tensors
  std::vector<TensorSpec> inputs, outputs;   // dims as in the file: without the batch where max_batch_size > 0
  int instances = 1;
  plan::Device device = {};
  std::optional<DynamicBatching> batching;
  engine::Parameters parameters;
  std::vector<engine::Accelerator> accelerators;  // of the GPU
  std::vector<WarmupInput> warmup;                // of one row; empty: nothing but the batch is open
  std::vector<int64_t> warmup_batches;            // rows of each warm-up run
};

// The inputs of the decision.
struct ServingFacts {
  std::string name;
  engine::Signature signature;
  std::string engine = plan::kUsualEngine;  // that runs `best`
  Precision precision = Precision::kFp32;
  Candidate best;
  bool batches = false;                               // rows of one run are independent: requests may be merged
  int64_t verified_batch = 1;                         // the largest that ran and met the goal
  BatchingAdvice batching;                            // result of its curve over the batch
  std::map<std::string, std::string> engine_options;  // common to all candidates
  std::vector<WarmupInput> warmup = {};
  plan::Device device = {};
};

// max_batch_size and dynamic_batching from the advice; the former at least 8, up to the batch that ran, so that clients
// may send small batches of their own.
ServingConfig serving_config(const ServingFacts& facts);

std::string config_text(const ServingConfig& config);
// Configures a model without tensors: a language model.
std::string config_text(const std::string& name, const std::string& backend, const engine::Parameters& parameters);

// The same for OpenVINO Model Server, stored beside the versions (`ovms --config_path NAME/ovms.json`): one compiled
// model whose streams are the instances, with the threads of all of them (docs/parameters.md of
// openvinotoolkit/model_server). Empty if the tuned engine has no server of its own.
std::string ovms_text(const ServingFacts& facts);

}  // namespace ridge::tune
