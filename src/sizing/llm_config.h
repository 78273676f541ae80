// The dimensions of a language model from its config.json (the Hugging Face kind) or a line of flags. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/units.h"
#include "sizing/llm.h"

namespace ridge::sizing {

struct LlmConfig {
  LlmShape shape;
  std::optional<Precision> precision;  // that the weights are published in (torch_dtype, dtype)
  std::vector<std::string> notes;      // assumptions for missing values, and what is not counted
};

// For a nested config (text_config) the text part. Errors: a dimension is missing, of another type or below 1; heads that do
// not divide; kinds of model with another form of cache or layers (latent attention, state spaces, encoder-decoder), or without
// a cache (encoders).
Result<LlmConfig> llm_config_from_json(const Json& json, const std::string& name);

// "layers=32,heads=32,kv-heads=8,hidden=4096,vocabulary=128256,intermediate=14336", and head-dim, experts,
// experts-per-token, context, tied.
Result<LlmConfig> llm_config_from_flags(std::string_view flags);

}  // namespace ridge::sizing
