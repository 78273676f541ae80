// The tokenizer of the reference language models: byte-level BPE with the splitting pattern of Llama 3, learnt once
// from the texts of ridge, and a chat template in ChatML's form. Both files have the form of Hugging Face's
// `tokenizers` and `transformers`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace ridge::zoo {

struct SpecialTokens {
  int64_t begin = 0, end = 0, pad = 0;  // numbers; `end` also ends a message
};

struct TokenizerFiles {
  std::string tokenizer;  // tokenizer.json
  std::string config;     // tokenizer_config.json, with the chat template
  SpecialTokens special;
};

// Files with exactly `vocabulary` tokens, more than 260. The texts gave 16,380; beyond, unused special tokens fill it
// up, as in Llama 3's.
TokenizerFiles tokenizer_files(size_t vocabulary);

}  // namespace ridge::zoo
