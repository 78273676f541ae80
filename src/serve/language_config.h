// How a configuration decides the way a language model is served: `backend` and `parameters` of config.pbtxt → a
// decoder's plan and what the scheduler is told. The keys are listed in docs/contracts.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "engine/decoder.h"
#include "serve/config_text.h"
#include "serve/model_settings.h"

namespace ridge::serve {

struct LanguageConfig {
  engine::DecoderPlan plan;
  std::optional<engine::WeightFormat> weights;  // that the configuration asks for
  int64_t cache_tokens = 0;                     // of all sequences together; 0: from the memory
  int64_t context = 0;                          // most tokens of a sequence; 0: the model's
  int64_t most_sequences = 256;                 // that run at the same time
  std::optional<int64_t> step_tokens;           // most of a step
  std::optional<Nanoseconds> token_goal;
  bool prefix_reuse = true;
  bool speculate = true;
  bool generation_config = true;  // its sampling is that of requests that say nothing of it
  ModelSettings settings;         // name, version, platform and tags
  ConfigPtr completed;
};

// kInvalid: a known key with a wrong value, named in the error; what a language model does not have (tensors, batching,
// instances). An unknown key that starts with "ridge_" causes a warning; others are ignored. kUnsupported: a form that
// the checkpoint lacks. `cores`: threads where no key sets them; 0: the engine's default.
Result<LanguageConfig> language_config_of(const inference::ModelConfig& config, const std::string& name,
                                          int64_t version, const std::string& checkpoint, int cores,
                                          const std::string& engine_library);

}  // namespace ridge::serve
