// Loads ensembles, of models that are loaded already.
#pragma once

#include "serve/loader.h"

namespace ridge::serve {

// kInvalid: it contains itself.
Result<std::shared_ptr<Servable>> load_ensemble(const LoadContext& context, const ModelSource& source, int64_t version);

}  // namespace ridge::serve
