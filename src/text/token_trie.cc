#include "text/token_trie.h"

#include <algorithm>
#include <functional>
#include <string_view>

namespace ridge::text {

TokenTrie::TokenTrie(std::span<const std::string> tokens)
    : bytes_(tokens.begin(), tokens.end()), same_(tokens.size(), kNoToken) {
  for (int32_t token = 0; token < static_cast<int32_t>(bytes_.size()); ++token)
    if (!bytes_[token].empty() && bytes_[token].size() <= kLongestToken) sorted_.push_back(token);
  std::sort(sorted_.begin(), sorted_.end(), [&](int32_t a, int32_t b) { return bytes_[a] < bytes_[b]; });
  add_nodes();
  characters_.resize((words() + 1) * 64);
  for (const int32_t token : sorted_) {
    const auto begins = [](char byte) { return (static_cast<uint8_t>(byte) & 0xc0) != 0x80; };
    characters_[token] =
        static_cast<uint8_t>(std::min<std::ptrdiff_t>(std::ranges::count_if(bytes_[token], begins), 255));
  }
  const JsonLexer& lexer = json_lexer();
  below_.emplace_back();
  uint32_t token = 0;
  look_below(kRoot, lexer.text, token);
  within_.resize(lexer.size());
  for (uint32_t state = 0; state < lexer.size(); ++state)
    if (lexer.within_quotes(state)) within_[state] = look_within_quotes(state);
}

void TokenTrie::add_nodes() {
  nodes_.emplace_back();
  std::vector<uint32_t> path{kRoot};  // by depth, of the last token
  std::string_view last;
  const auto close = [&](size_t depth) {
    for (; path.size() > depth + 1; path.pop_back()) nodes_[path.back()].end = static_cast<uint32_t>(nodes_.size());
  };
  for (const int32_t token : sorted_) {
    const std::string_view bytes = bytes_[token];
    const auto [differs, unused] = std::mismatch(last.begin(), last.end(), bytes.begin(), bytes.end());
    close(static_cast<size_t>(differs - last.begin()));
    while (path.size() <= bytes.size()) {
      path.push_back(static_cast<uint32_t>(nodes_.size()));
      nodes_.push_back({.byte = static_cast<uint8_t>(bytes[path.size() - 2])});
    }
    Node& node = nodes_[path.back()];
    node.several = node.token != kNoToken;
    same_[token] = node.token;
    node.token = token;
    last = bytes;
  }
  close(0);
  nodes_[kRoot].end = static_cast<uint32_t>(nodes_.size());
}

TokenTrie::Below TokenTrie::look_below(uint32_t number, uint32_t lexer_state, uint32_t& token) {
  constexpr uint32_t kFew = 8;      // nodes: those are looked at one by one as quickly
  constexpr uint32_t kMany = 2048;  // tokens: as many as words of a set, about
  const JsonLexer& lexer = json_lexer();
  Below found{.first_bytes = {}, .characters = 0, .first_token = token, .end_token = 0};
  for_each_child(number, [&](uint32_t child, const Node& node) {
    for (int32_t same = node.token; same != kNoToken; same = same_[same]) ++token;
    const bool begins = lexer_state == lexer.text;
    uint32_t next = node.byte < 0x80 ? lexer.text : lexer.next(lexer_state, node.byte);
    if (begins) found.first_bytes.set(node.byte);
    if (next == JsonLexer::kNoState || (!begins && node.byte < 0x80)) {
      found.first_bytes.set(0x80);
      next = lexer.text;
    }
    const Below further = look_below(child, next, token);
    found.first_bytes |= further.first_bytes;
    found.characters = std::max(found.characters, further.characters + (begins ? 1 : 0));
  });
  found.end_token = token;
  if (nodes_[number].end > number + kFew) {
    nodes_[number].below = static_cast<uint32_t>(below_.size());
    below_.push_back(found);
    Below& kept = below_.back();
    if (number != kRoot && kept.end_token - kept.first_token >= kMany) {
      TokenSet many(words());
      add_all_tokens(kept, many);
      kept.many = std::move(many);
    }
  }
  return found;
}

TokenTrie::OfClass TokenTrie::of_class(const ByteSet& first_bytes) const {
  const JsonLexer& lexer = json_lexer();
  OfClass found{.tokens = TokenSet(words()), .exits = {}};
  const auto visit = [&](const auto& again, uint32_t from, uint32_t lexer_state, uint32_t characters) -> void {
    for_each_child(from, [&](uint32_t number, const Node& node) {
      const bool begins = lexer_state == lexer.text;
      if (begins && !first_bytes[node.byte]) return found.exits.push_back({node.byte, characters, number});
      const uint32_t next = begins && node.byte < 0x80 ? lexer.text : lexer.next(lexer_state, node.byte);
      if (next == JsonLexer::kNoState || (!begins && node.byte < 0x80)) return;
      add_tokens(node, found.tokens);
      const Below* further = below(number);
      if (further && (further->first_bytes & ~first_bytes).none())
        add_all_tokens(*further, found.tokens);
      else
        again(again, number, next, characters + (begins ? 1 : 0));
    });
  };
  visit(visit, kRoot, lexer.text, 0);
  std::ranges::sort(found.exits);
  return found;
}

void TokenTrie::add_short(const TokenSet& tokens, uint32_t characters, TokenSet& set) const {
  for (size_t word = 0; word < set.size(); ++word) {
    uint64_t fitting = characters < 255 ? 0 : ~uint64_t{0};
    for (size_t bit = 0; bit < 64 && characters < 255; ++bit)
      fitting |= uint64_t{characters_[word * 64 + bit] <= characters ? 1U : 0U} << bit;
    set[word] |= tokens[word] & fitting;
  }
}

TokenTrie::WithinQuotes TokenTrie::look_within_quotes(uint32_t lexer_state) const {
  const JsonLexer& lexer = json_lexer();
  WithinQuotes found;
  found.tokens.resize(words());
  const auto visit = [&](const auto& again, uint32_t from, uint32_t state, uint32_t characters) -> void {
    for_each_child(from, [&](uint32_t number, const Node& node) {
      const uint32_t next = lexer.next(state, node.byte);
      if (next == JsonLexer::kNoState) return;
      if (lexer.accepts(next)) {
        found.ends.push_back({number, characters});
        return;
      }
      const uint32_t begun = characters + (state == lexer.text ? 1 : 0);
      for (int32_t token = node.token; token != kNoToken; token = same_[token])
        found.by_length.emplace_back(begun, token);
      add_tokens(node, found.tokens);
      again(again, number, next, begun);
    });
  };
  visit(visit, kRoot, lexer_state, 0);
  std::sort(found.by_length.begin(), found.by_length.end(), std::greater<>());
  found.by_length.shrink_to_fit();
  return found;
}

std::span<const std::pair<uint32_t, int32_t>> TokenTrie::WithinQuotes::longer_than(uint32_t characters) const {
  const auto end = std::partition_point(by_length.begin(), by_length.end(),
                                        [&](const auto& token) { return token.first > characters; });
  return {by_length.begin(), end};
}

}  // namespace ridge::text
