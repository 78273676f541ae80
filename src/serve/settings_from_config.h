// Turns configurations into the native values that the rest of the server works with.
#pragma once

#include <functional>
#include <string>

#include "engine/engine.h"
#include "serve/config_text.h"
#include "serve/model_settings.h"
#include "serve/version_policy.h"

namespace ridge::serve {

// Microseconds as in the schema, cut to a year: no request waits longer, and sums with the time stay in range.
Nanoseconds from_microseconds(uint64_t us);

VersionPolicy version_policy_of(const inference::ModelConfig& config);
// The model's file inside a version's directory.
std::string model_filename_of(const inference::ModelConfig& config);
int instances_of(const inference::ModelConfig& config);

// Takes a checked and completed configuration. `directory` is the model's: location of label files and warm-up data.
Result<ModelSettings> settings_of(const inference::ModelConfig& completed, const engine::Signature& signature,
                                  int64_t version, const std::string& directory, size_t queue_limit);

}  // namespace ridge::serve
