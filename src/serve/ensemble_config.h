// Reads ensembles from configurations: `platform: "ensemble"` and `ensemble_scheduling` of config.pbtxt.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "serve/config_text.h"
#include "serve/ensemble.h"

namespace ridge::serve {

bool is_ensemble(const inference::ModelConfig& config);

// The names of the models of its steps, each once; none without an ensemble.
std::vector<std::string> models_of_steps(const inference::ModelConfig& config);

// Checks everything that is known without its models.
Status check_ensemble(const inference::ModelConfig& config);

// Takes a checked configuration; makes settings, plan and configuration. `directory` is the location of label files.
Result<LoadedEnsemble> read_ensemble(const inference::ModelConfig& config, const std::string& name, int64_t version,
                                     const std::string& directory);

}  // namespace ridge::serve
