// Loads models that engines run as they are: opens all sessions of a version and warms them up.
#pragma once

#include "serve/loader.h"

namespace ridge::serve {

// A session that opens is waited for; a run of the warm-up is broken off where the engine can do that. kTimeout: the
// warm-up took longer than ServerOptions::warmup_limit.
Result<std::shared_ptr<Servable>> load_tensor_model(const LoadContext& context, const ModelSource& source,
                                                    int64_t version);

}  // namespace ridge::serve
