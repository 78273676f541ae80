#include "serve/text_choice.h"

#include <utility>

namespace ridge::serve {
namespace {

TextToken text_token(const text::Tokenizer& tokenizer, const generate::TokenChance& chance) {
  return {chance.token, tokenizer.bytes_of(chance.token), chance.logprob, {}};
}

}  // namespace

TextChoice::TextChoice(const text::Tokenizer& tokenizer, const TextRequest& request, int index)
    : tokenizer_(tokenizer),
      include_stop_(request.include_stop),
      least_tokens_(request.least_tokens),
      detokenizer_(tokenizer, request.with_special),
      stops_(request.stop, request.include_stop) {
  piece_.choice = index;
}

std::optional<TextPiece> TextChoice::add(const generate::Event& event) {
  piece_.finish = event.finish;
  if (event.token) {
    ++tokens_;
    piece_.token_ids.push_back(*event.token);
    const bool is_stop_token = event.finish == generate::Finish::kStop;
    if (!is_stop_token || include_stop_)
      piece_.text += stops_.add(detokenizer_.add(*event.token), tokens_ > least_tokens_);
    if (event.chance) {
      piece_.tokens.push_back(text_token(tokenizer_, *event.chance));
      for (const generate::TokenChance& chance : event.alternatives)
        piece_.tokens.back().alternatives.push_back(text_token(tokenizer_, chance));
    }
  }
  if (event.finish != generate::Finish::kNone && !stops_.found()) {
    piece_.text += stops_.add(detokenizer_.end(), tokens_ > least_tokens_);
    if (!stops_.found()) piece_.text += stops_.end();
  }
  if (stops_.found()) {
    piece_.finish = generate::Finish::kStop;
    piece_.stop_reason = *stops_.found();
  }
  if (piece_.text.empty() && piece_.tokens.empty() && piece_.finish == generate::Finish::kNone) return std::nullopt;
  TextPiece next;
  next.choice = piece_.choice;
  return std::exchange(piece_, std::move(next));
}

std::vector<TextToken> prompt_tokens(const text::Tokenizer& tokenizer, const TextRequest& request,
                                     const generate::Event& event) {
  std::vector<TextToken> tokens;
  if (!request.prompt_logprobs) return tokens;
  for (const int32_t token : request.prompt) tokens.push_back({token, tokenizer.bytes_of(token), 0, {}});
  for (size_t i = 1; i < tokens.size() && i <= event.prompt_chances.size(); ++i)
    tokens[i].logprob = event.prompt_chances[i - 1].logprob;
  return tokens;
}

}  // namespace ridge::serve
