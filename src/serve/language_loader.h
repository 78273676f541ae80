// Loads versions of language models: a folder with config.json, weights and tokenizer, as Hugging Face's hub has them, or a GGUF file.
#pragma once

#include "serve/loader.h"

namespace ridge::serve {

// Whether it is a checkpoint, and holds no file that an engine runs as it is.
bool is_language_model(const ModelSource& source, int64_t version);

// Opens its decoder, reserves its cache and measures its first steps. There is memory for one old version beside the new
// one: those before it end first.
Result<std::shared_ptr<Servable>> load_language_model(const LoadContext& context, const ModelSource& source,
                                                      int64_t version);

}  // namespace ridge::serve
