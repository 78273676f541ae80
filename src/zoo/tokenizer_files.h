// The tokenizer of the reference language models: byte-level BPE with the splitting pattern of Llama 3, learnt from the texts in this program, and
// a chat template in ChatML's form. Both files have the form of Hugging Face's `tokenizers` and `transformers`.
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

// With exactly `vocabulary` tokens. The texts give about 29,000, down to pairs that occur once; beyond, unused special tokens fill it up, as in
// Llama 3's. Takes about half a second.
TokenizerFiles tokenizer_files(size_t vocabulary);

}  // namespace ridge::zoo
