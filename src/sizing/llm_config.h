// The dimensions of a language model as its config.json (the Hugging Face kind) or a line of flags states them. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "sizing/llm.h"

namespace ridge::sizing {

struct LlmConfig {
  LlmShape shape;
  std::vector<std::string> notes;  // what was not stated and had to be assumed, what is not counted
};

// Of a nested config (text_config) the text part. Errors: a dimension is missing, of another type or below 1; heads that do
// not divide; kinds of model whose cache or layers are of another form (latent attention, state spaces, encoder-decoder).
Result<LlmConfig> llm_config_from_json(const Json& json, const std::string& name);

// "layers=32,heads=32,kv-heads=8,hidden=4096,vocabulary=128256,intermediate=14336", and head-dim, experts,
// experts-per-token, context, tied.
Result<LlmConfig> llm_config_from_flags(std::string_view flags);

}  // namespace ridge::sizing
