// How a model's configuration decides the way its engine runs it: `parameters`, `optimization` and `instance_group` of
// config.pbtxt → Plan. The keys are listed in docs/contracts.md.
#pragma once

#include <optional>
#include <string>

#include "engine/engines.h"
#include "plan/device.h"
#include "plan/plan.h"
#include "serve/config_text.h"

namespace ridge::serve {

// The row of the configuration's backend, or of the usual engine if it names none. No name: an unknown backend.
const engine::Engine& engine_of(const inference::ModelConfig& config);

// kInvalid: a known key with a wrong value, named in the error. An unknown key that starts with "ridge_" causes a
// warning; any other unknown key is ignored. Without a thread count, `cores` (0 = not known) are divided among the
// instances on CPUs; one on a GPU gets one, which submits the work. `host_threads`: of an instance with cores of its
// own.
Result<plan::Plan> plan_of(const inference::ModelConfig& config, const std::string& model_file, int cores,
                           const std::string& engine_library, const plan::Device& device = {},
                           std::optional<int> host_threads = {});

// Checks a configuration that came with a load request. kInvalid: an option of the engine that may name a file, a
// folder or a library: the engine would write or run it with the server's rights.
Status check_sent_options(const plan::Plan& plan);

}  // namespace ridge::serve
