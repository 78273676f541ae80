// A model from its config.json (the Hugging Face kind) or a line of flags. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/units.h"
#include "checkpoint/model.h"

namespace ridge::checkpoint {

struct Config {
  Model model;                         // formats as published
  std::optional<Precision> precision;  // torch_dtype, dtype
  bool quantised = false;              // a quantisation config says so
};

// For a nested config (text_config) the text part. `quantisation`: hf_quant_config.json of the same checkpoint, or
// null. Errors: a dimension is missing, of another type or below 1; heads that do not divide; kinds of layers that are
// not described here (state spaces, encoder-decoder), by name; encoders, which have no cache.
Result<Config> config_from_json(const Json& json, const std::string& name, const Json* quantisation = nullptr);

// The same; errors do not say whose config it is.
Result<Config> describe(const Json& json, const std::string& name, const Json* quantisation = nullptr);

// "layers=32,heads=32,kv-heads=8,hidden=4096,vocabulary=128256,intermediate=14336", and head-dim, experts,
// experts-per-token, context, tied.
Result<Config> config_from_flags(std::string_view flags);

}  // namespace ridge::checkpoint
