// A GGUF file's tokenizer in the words of tokenizer.json and tokenizer_config.json.
// Sources: llama.cpp (MIT), src/llama-vocab.cpp (names of pre-tokenizers and what they mean); transformers,
// convert_slow_tokenizer.py (merges from scores).
#pragma once

#include "base/result.h"
#include "checkpoint/documents.h"
#include "checkpoint/gguf.h"

namespace ridge::checkpoint {

// Models "gpt2" (byte-level BPE) and "llama" (BPE by scores, with bytes for what has no piece). kUnsupported: other
// models and pre-tokenizers, by name.
Result<TextDocuments> gguf_texts(const Gguf& file);

}  // namespace ridge::checkpoint
