#include "text/token_trie.h"

#include <algorithm>
#include <functional>
#include <string_view>

namespace ridge::text {

TokenTrie::TokenTrie(std::span<const std::string> tokens)
    : bytes_(tokens.begin(), tokens.end()), same_(tokens.size(), kNoToken) {
  std::vector<int32_t> sorted;
  for (int32_t token = 0; token < static_cast<int32_t>(bytes_.size()); ++token)
    if (!bytes_[token].empty() && bytes_[token].size() <= kLongestToken) sorted.push_back(token);
  std::sort(sorted.begin(), sorted.end(), [&](int32_t a, int32_t b) { return bytes_[a] < bytes_[b]; });
  add_nodes(sorted);
  const JsonLexer& lexer = json_lexer();
  within_.resize(lexer.size());
  for (uint32_t state = 0; state < lexer.size(); ++state)
    if (lexer.within_quotes(state)) within_[state] = look_within_quotes(state);
}

void TokenTrie::add_nodes(std::span<const int32_t> sorted) {
  nodes_.emplace_back();
  std::vector<uint32_t> path{kRoot};  // by depth, of the last token
  std::string_view last;
  const auto close = [&](size_t depth) {
    for (; path.size() > depth + 1; path.pop_back()) nodes_[path.back()].end = static_cast<uint32_t>(nodes_.size());
  };
  for (const int32_t token : sorted) {
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
