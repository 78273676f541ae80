// Text files of a checkpoint: its tokenizer, the chat template, and the tokens that end an answer.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "generate/scheduler.h"
#include "text/answer_form.h"
#include "text/chat_template.h"
#include "text/token_trie.h"
#include "text/tokenizer.h"

namespace ridge::serve {

// Values of generation_config.json, as vLLM applies them (--generation-config auto).
struct RecommendedSampling {
  generate::Sampling sampling;
  std::optional<int64_t> most_tokens;  // of any answer (max_new_tokens)
};

struct LanguageFiles {
  text::Tokenizer tokenizer;
  Result<text::ChatTemplate> chat;  // kInvalid: it has none, or one that is not understood
  Status writes_chat;               // of one message, from a user; else why not
  bool reads_parts = false;         // the template takes contents that are lists of parts
  bool random_weights = false;      // `ridge make` wrote it
  text::AnswerForm answer_form;
  std::string begin_text, end_text;               // special tokens, as templates write them; may be empty
  generate::SharedList<int32_t> stop_tokens;      // of the model
  std::shared_ptr<const text::TokenTrie> tokens;  // but the special ones
  RecommendedSampling recommended;
};

// `path`: a folder or a GGUF file. Errors: no tokenizer, or a file that cannot be read or has a wrong value, with its
// name. `recommended`: else generation_config.json is read only for the tokens that end an answer.
Result<LanguageFiles> read_language_files(const std::string& path, bool recommended);

}  // namespace ridge::serve
