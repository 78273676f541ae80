// Checks requests of a language model's clients. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "serve/text_model.h"

namespace ridge::serve {

struct TextLimits {
  std::string model;
  int64_t context = 0;     // most tokens of prompt and answer
  int64_t vocabulary = 0;  // numbers of tokens are below it
  bool has_end = true;     // there is a token that ends an answer
};

// kInvalid: what is out of range, and which range.
Status check_text_request(const TextLimits& limits, const TextRequest& request);

}  // namespace ridge::serve
