#include "text/token_trie.h"

#include <algorithm>
#include <deque>
#include <functional>

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

// Level by level, so that children stand together: what is open is a node and the range of tokens below it.
void TokenTrie::add_nodes(std::span<const int32_t> sorted) {
  struct Open {
    uint32_t node;
    size_t begin, end, depth;
  };
  nodes_.emplace_back();
  std::deque<Open> open{{kRoot, 0, sorted.size(), 0}};
  for (; !open.empty(); open.pop_front()) {
    const auto [node, begin, end, depth] = open.front();
    size_t at = begin;
    for (; at < end && bytes_[sorted[at]].size() == depth; ++at) {
      same_[sorted[at]] = nodes_[node].token;
      nodes_[node].token = sorted[at];
    }
    nodes_[node].first_child = static_cast<uint32_t>(nodes_.size());
    while (at < end) {
      const char byte = bytes_[sorted[at]][depth];
      const size_t first = at;
      while (at < end && bytes_[sorted[at]][depth] == byte) ++at;
      open.push_back({static_cast<uint32_t>(nodes_.size()), first, at, depth + 1});
      nodes_.push_back({.byte = static_cast<uint8_t>(byte)});
      ++nodes_[node].children;
    }
  }
}

TokenTrie::WithinQuotes TokenTrie::look_within_quotes(uint32_t lexer_state) const {
  const JsonLexer& lexer = json_lexer();
  WithinQuotes found;
  found.tokens.resize(words());
  const auto visit = [&](const auto& again, uint32_t from, uint32_t state, uint32_t characters) -> void {
    for (const Node& node : children(from)) {
      const uint32_t next = lexer.next(state, node.byte);
      if (next == JsonLexer::kNoState) continue;
      const uint32_t number = number_of(node);
      if (lexer.accepts(next)) {
        found.ends.push_back({number, characters});
        continue;
      }
      const uint32_t begun = characters + (state == lexer.text ? 1 : 0);
      for (int32_t token = node.token; token != kNoToken; token = same_[token])
        found.by_length.emplace_back(begun, token);
      add_tokens(node, found.tokens);
      again(again, number, next, begun);
    }
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
