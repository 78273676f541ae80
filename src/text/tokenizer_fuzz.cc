// A tokenizer.json and a text (behind the first zero byte) are tokens or an error; the tokens streamed are the tokens
// decoded.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "text/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t zero = input.find('\0');
  const auto tokenizer = ridge::text::Tokenizer::parse(input.substr(0, zero));
  if (!tokenizer) return 0;
  std::string_view text = zero == std::string_view::npos ? "a b" : input.substr(zero + 1);
  const auto tokens = tokenizer->encode(text, true);
  if (!tokens) return 0;
  ridge::text::Detokenizer stream(*tokenizer);
  std::string pieces;
  for (const int32_t token : *tokens) {
    pieces += stream.add(token);
    if (tokenizer->piece_of(token).size() > size) std::abort();
    tokenizer->bytes_of(token);
  }
  pieces += stream.end();
  if (pieces != tokenizer->decode(*tokens, false)) std::abort();
  return 0;
}
