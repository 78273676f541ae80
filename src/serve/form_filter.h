// FormFilter: keeps an answer to its form (response_format): tokens that may not come next are never drawn. One thread.
#pragma once

#include <memory>
#include <vector>

#include "generate/scheduler.h"
#include "text/token_mask.h"

namespace ridge::serve {

class FormFilter final : public generate::TokenFilter {
 public:
  // `ends`: tokens that end an answer, at least one. Where no token can go on they are what is left.
  FormFilter(text::JsonGrammar form, std::shared_ptr<const text::TokenTrie> tokens, std::vector<int32_t> ends);
  void mask(std::span<float> logits) override;
  void accept(int32_t token) override { mask_.accept(token); }

 private:
  text::TokenMask mask_;
  std::vector<int32_t> ends_;
};

}  // namespace ridge::serve
