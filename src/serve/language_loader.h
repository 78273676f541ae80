// Loads versions of language models: a folder with config.json, weights and tokenizer, as Hugging Face's hub has them, or a GGUF file.
#pragma once

#include <cstdint>
#include <stop_token>

#include "serve/language_model.h"
#include "serve/model_loader.h"
#include "serve/server.h"
#include "serve/warm_ups.h"

namespace ridge::serve {

// Whether it is a checkpoint, and holds no file that an engine runs as it is.
bool is_language_model(const ModelSource& source, int64_t version);

// Opens its decoder, reserves its cache and measures its first steps, in which time it is one of `warm_ups`. Errors as load_version().
Result<LoadedLanguageModel> load_language_model(const ServerOptions& options, const ModelSource& source,
                                                int64_t version, WarmUps& warm_ups, const std::stop_token& stop = {});

}  // namespace ridge::serve
