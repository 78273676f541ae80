// Makes tokens of a word of the pre-tokenizer: the "model" of tokenizer.json. Immutable once read; thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/json_part.h"

namespace ridge::text {

class WordModel {
 public:
  virtual ~WordModel() = default;
  virtual Status read(const JsonPart& model) = 0;  // once
  // Adds the word's tokens. Once there are more than `most` the rest may stay out.
  virtual void encode(std::string_view word, std::vector<int32_t>& tokens, size_t most) const = 0;
};

}  // namespace ridge::text
