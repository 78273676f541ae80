// TextChoice: the tokens of one answer → its pieces: certain text, stop texts, the reason of its end. Pure; one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "generate/scheduler.h"
#include "serve/stop_texts.h"
#include "serve/text_model.h"
#include "text/tokenizer.h"

namespace ridge::serve {

class TextChoice {
 public:
  // `tokenizer` and the request's marks outlive it. `index`: of the choice in its request.
  TextChoice(const text::Tokenizer& tokenizer, const TextRequest& request, int index);

  // Empty: nothing to deliver yet. Not after a piece that finishes.
  std::optional<TextPiece> add(const generate::Event& event);
  int64_t tokens() const { return tokens_; }

 private:
  const text::Tokenizer& tokenizer_;
  const bool include_stop_;
  const int64_t least_tokens_;
  const generate::SharedList<int32_t> stop_tokens_;
  text::Detokenizer detokenizer_;
  StopTexts stops_;
  int64_t tokens_ = 0;
  TextPiece piece_;  // that grows
};

// The prompt's tokens for echo; the first has no chance.
std::vector<TextToken> prompt_tokens(const text::Tokenizer& tokenizer, const TextRequest& request,
                                     const generate::Event& event);

}  // namespace ridge::serve
