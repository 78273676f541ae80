// Text → tokens and back, as the `tokenizers` library of Hugging Face does it with the same tokenizer.json. Pure;
// thread-safe after it is made.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace ridge::text {

class DecoderChain;

class Tokenizer {
 public:
  // `json`: the text of tokenizer.json. Its truncation and padding are not applied. Errors: not JSON, a part that is
  // missing or of another type; unknown models, normalizers, pre-tokenizers, decoders and post-processors, by name.
  static Result<Tokenizer> parse(std::string_view json);
  ~Tokenizer();
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;

  // `text` is UTF-8. Added tokens in the text become their numbers. `with_special`: what the post-processor adds (begin
  // of text). Stops after `most` tokens and at least one more. kInvalid: text that is not UTF-8.
  Result<std::vector<int32_t>> encode(std::string_view text, bool with_special, size_t most = SIZE_MAX) const;
  // Bytes that are not UTF-8 become U+FFFD. `with_special`: special tokens are written. Unknown numbers are left out.
  std::string decode(std::span<const int32_t> tokens, bool with_special) const;

  int64_t vocabulary() const;  // largest number + 1
  size_t longest() const;      // [bytes] of a token's text, as tokenizer.json writes it
  std::optional<int32_t> token_of(std::string_view text) const;
  // Spelling as in tokenizer.json ("Ġthe"); empty: unknown token.
  std::string_view piece_of(int32_t token) const;
  // The bytes that it stands for within a text.
  std::string bytes_of(int32_t token) const;
  bool is_special(int32_t token) const;

 private:
  friend class Detokenizer;
  struct Parts;
  explicit Tokenizer(std::unique_ptr<const Parts> parts);
  std::unique_ptr<const Parts> parts_;
};

// Tokens as they are generated → text as it becomes certain: bytes that may still become a character are held back. All
// pieces together are what decode() gives of all tokens. A row of byte tokens ("<0xE4>" of models with byte fallback)
// is certain when it ends, for one wrong byte makes all of it wrong. One thread.
class Detokenizer {
 public:
  // `tokenizer` and `marks` outlive it. `marks`: special tokens that are written all the same.
  explicit Detokenizer(const Tokenizer& tokenizer, bool with_special = false,
                       std::span<const std::string_view> marks = {});
  ~Detokenizer();
  Detokenizer(Detokenizer&&) noexcept;
  std::string add(int32_t token);
  std::string end();

 private:
  const Tokenizer::Parts& parts_;
  bool with_special_;
  std::span<const std::string_view> marks_;
  std::unique_ptr<DecoderChain> chain_;
};

}  // namespace ridge::text
