// Any schema is compiled or refused. Of a compiled one: what is accepted of the bytes after the schema's NUL, and
// ended, is JSON; the mask allows a token exactly where its bytes are allowed; every state has a byte that leads on, or
// may end.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "text/token_mask.h"

namespace {

using namespace ridge::text;

// Three special tokens, every byte, and some longer pieces.
std::vector<std::string> fuzz_tokens() {
  std::vector<std::string> tokens(1);
  for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(1, static_cast<char>(byte));
  for (const char* piece : {"{\"", "\":\"", "\",\"", "\"}", "}]", "],", "[[", "null}", "12,", "0.5", "  \n", "ab",
                            "\\u00", "\xc3\xa9", "\xf0\x9f", "a\":"})
    tokens.emplace_back(piece);
  return tokens;
}

TokenSet allowed_by(TokenMask mask) {
  if (!mask.find().ok()) std::abort();
  return mask.allowed();
}

bool leads_on(const JsonState& state) {
  for (int byte = 0; byte < 256; ++byte) {
    JsonState next = state;
    const char text = static_cast<char>(byte);
    if (next.accept(std::string_view(&text, 1))) return true;
  }
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto trie = std::make_shared<const TokenTrie>(fuzz_tokens());
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t end = std::min(input.find('\0'), size);
  const auto schema = ridge::parse_json(input.substr(0, end), "fuzz");
  if (!schema.ok()) return 0;
  const auto grammar = JsonGrammar::of(*schema);
  if (!grammar.ok()) return 0;

  JsonState state(*grammar);
  TokenMask mask(*grammar, trie, {0});
  std::string text;
  for (const char byte : input.substr(std::min(end + 1, size)).substr(0, 200)) {
    if (!leads_on(state)) {
      if (!state.may_end()) std::abort();
      break;
    }
    const TokenSet set = allowed_by(mask);
    for (int32_t token = 1; token < trie->vocabulary(); ++token) {
      if (text.size() % 8 != 0 && token < 257) continue;  // single bytes now and then
      JsonState next = state;
      if (((set[token / 64] >> (token % 64)) & 1) != (next.accept(trie->bytes_of(token)) ? 1U : 0U)) std::abort();
    }
    const bool accepted = state.accept(std::string_view(&byte, 1));
    if (accepted != mask.accept(1 + static_cast<uint8_t>(byte)) || state.may_end() != mask.may_end()) std::abort();
    if (!accepted) break;
    text += byte;
  }
  if (state.may_end() && !ridge::parse_json(text, "fuzz, accepted").ok()) std::abort();
  return 0;
}
