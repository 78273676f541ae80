#include "serve/text_choice.h"

#include <algorithm>
#include <span>
#include <utility>

namespace ridge::serve {
namespace {

TextToken text_token(const text::Tokenizer& tokenizer, const generate::TokenChance& chance,
                     std::span<const generate::TokenChance> alternatives = {}) {
  TextToken token{chance.token, tokenizer.bytes_of(chance.token), chance.logprob, {}};
  for (const generate::TokenChance& each : alternatives) token.alternatives.push_back(text_token(tokenizer, each));
  return token;
}

}  // namespace

TextChoice::TextChoice(const text::Tokenizer& tokenizer, const TextRequest& request, int index)
    : tokenizer_(tokenizer),
      include_stop_(request.include_stop),
      least_tokens_(request.least_tokens),
      stop_tokens_(request.stop_tokens),
      detokenizer_(tokenizer, request.with_special, request.marks),
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
    if (event.chance) piece_.tokens.push_back(text_token(tokenizer_, *event.chance, event.alternatives));
    if (is_stop_token && std::ranges::find(stop_tokens_, *event.token) != stop_tokens_.end())
      piece_.stop_token = event.token;
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
  tokens.push_back(text_token(tokenizer, {request.prompt.front(), 0}));
  for (const generate::PromptChance& chance : event.prompt_chances)
    tokens.push_back(text_token(tokenizer, chance, chance.alternatives));
  return tokens;
}

}  // namespace ridge::serve
