// Loads language models: a folder with config.json, weights and tokenizer (Hugging Face's), or a GGUF file.
#pragma once

#include "serve/loader.h"

namespace ridge::serve {

// True for a checkpoint without a file that an engine runs as it is.
bool is_language_model(const ModelSource& source, int64_t version);

// Opens its decoder, reserves its cache and measures its first steps. There is memory for one old version beside the
// new one: those before it end first.
Result<std::shared_ptr<Servable>> load_language_model(const LoadContext& context, const ModelSource& source,
                                                      int64_t version);

}  // namespace ridge::serve
