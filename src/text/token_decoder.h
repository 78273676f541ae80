// Tokens' texts → text: the "decoder" of tokenizer.json as a chain of steps through which tokens pass one by one, each
// step holding back what later tokens may change. decode() is this chain, ended; so streaming cannot differ.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "text/json_part.h"
#include "text/pattern.h"

namespace ridge::text {

// Immutable, thread-safe.
class TokenDecoder {
 public:
  static Result<TokenDecoder> read(const JsonPart& part);
  // The bytes that a token stands for within a text.
  std::string bytes_of(std::string_view piece) const;

 private:
  friend class DecoderChain;
  struct ByteLevel {};
  struct ByteFallback {};
  struct Fuse {};
  struct Spaces {};  // where tokenizer.json has no decoder: tokens with spaces between
  struct Metaspace {
    std::string replacement;
    bool drops_first;
  };
  struct Replace {
    Pattern pattern;
    std::string instead;
    std::string applied_to(std::string text) const;
  };
  struct Strip {
    std::string content;
    size_t begin, end;  // [characters]
  };
  struct WordPiece {
    std::string prefix;
    bool cleans_up;
  };
  using Step = std::variant<ByteLevel, ByteFallback, Fuse, Spaces, Metaspace, Replace, Strip, WordPiece>;
  Status add(const JsonPart& part);

 public:
  TokenDecoder() { steps_.emplace_back(Spaces{}); }

 private:
  std::vector<Step> steps_;  // nested sequences are one
};

// State of one answer: bytes that have passed and that are held back. One thread.
class DecoderChain {
 public:
  explicit DecoderChain(const TokenDecoder& decoder);  // which outlives it
  std::string add(std::string_view piece);
  std::string end();

 private:
  struct State {
    bool fused = false;   // its input is one token, which comes in parts
    bool first = true;    // no input yet
    std::string held;     // ByteLevel, ByteFallback: bytes; Strip: what may be the end; of fused input: all
    size_t stripped = 0;  // Strip, fused: characters gone from the beginning
    bool beginning = true;
  };
  // Passes `token` through the steps from `step` on.
  void pass(size_t step, std::string token);
  void end_step(size_t step);
  std::string taken();

  const TokenDecoder& decoder_;
  std::vector<State> states_;
  std::string out_;
};

}  // namespace ridge::text
