#include "serve/form_filter.h"

#include <cstddef>
#include <utility>

namespace ridge::serve {

FormFilter::FormFilter(text::JsonGrammar form, std::shared_ptr<const text::TokenTrie> tokens, std::vector<int32_t> ends)
    : mask_(std::move(form), std::move(tokens), ends), ends_(std::move(ends)) {}

void FormFilter::mask(std::span<float> logits) {
  if (mask_.mask(logits)) return;
  for (const int32_t end : ends_)
    if (static_cast<size_t>(end) < logits.size()) logits[end] = 0;
}

}  // namespace ridge::serve
