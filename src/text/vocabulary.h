// A model's tokens: texts and numbers, "vocab" of tokenizer.json's model. Immutable once read; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/result.h"
#include "text/json_part.h"

namespace ridge::text {

struct StringHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};

class Vocabulary {
 public:
  Status read(const JsonPart& model);  // once, into an empty one

  std::optional<int32_t> token_of(std::string_view piece) const;
  // kInvalid: it is none; `where` and `key` say what wants it.
  Result<int32_t> needed_token(std::string_view piece, const JsonPart& where, std::string_view key) const;
  std::optional<std::string_view> piece_of(int32_t token) const;
  int32_t size() const { return static_cast<int32_t>(tokens_.size()); }
  int32_t largest() const { return largest_; }
  size_t longest() const { return longest_; }  // [bytes] of a piece

 private:
  std::unordered_map<std::string, int32_t, StringHash, std::equal_to<>> tokens_;
  std::unordered_map<int32_t, std::string_view> pieces_;
  int32_t largest_ = -1;
  size_t longest_ = 0;
};

}  // namespace ridge::text
