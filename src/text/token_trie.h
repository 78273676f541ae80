// The tokens of a vocabulary by their bytes, as a tree, with what token masks need of it: made once per tokenizer and
// shared. Not for encoding. Immutable; thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "text/character_table.h"

namespace ridge::text {

// A set of tokens: bit t % 64 of word t / 64.
using TokenSet = std::vector<uint64_t>;
inline void add_token(TokenSet& set, int32_t token) { set[token / 64] |= uint64_t{1} << (token % 64); }
inline bool has_token(const TokenSet& set, int32_t token) { return (set[token / 64] >> (token % 64) & 1) != 0; }
inline void remove_token(TokenSet& set, int32_t token) { set[token / 64] &= ~(uint64_t{1} << (token % 64)); }

class TokenTrie {
 public:
  static constexpr size_t kLongestToken = 1024;  // [bytes]
  static constexpr int32_t kNoToken = -1;

  // `tokens`: the bytes that each stands for within a text, by its number. Empty, as special tokens have to be, or
  // longer than kLongestToken: never in a mask.
  explicit TokenTrie(std::span<const std::string> tokens);

  // In preorder: the nodes below one follow it, up to `end`.
  struct Node {
    uint32_t end = 0;
    int32_t token = kNoToken;
    uint32_t below = 0;  // 0: nothing is known of what is below
    uint8_t byte = 0;
    bool several = false;  // tokens of these bytes
  };
  // The kinds of the characters that begin below a node, and how many do at most; the tokens there.
  struct Below {
    ByteSet kinds;
    uint32_t characters = 0, first_token = 0, end_token = 0;
    uint32_t depth = 0;        // of the node [bytes]
    bool after_begun = false;  // the node is within a character
    TokenSet many = {};        // the same tokens, where they are many
  };
  // Set for a node that has many below it; null for others.
  const Below* below(uint32_t number) const {
    return nodes_[number].below > 0 ? &below_[nodes_[number].below] : nullptr;
  }
  void add_all_tokens(const Below& below, TokenSet& set) const {
    for (size_t i = 0; i < below.many.size(); ++i) set[i] |= below.many[i];
    for (uint32_t i = below.first_token; i < below.end_token && below.many.empty(); ++i) add_token(set, sorted_[i]);
  }
  // Adds only those that are in `tokens`, too.
  void add_tokens_of(const TokenSet& tokens, const Below& below, TokenSet& set) const;
  static constexpr uint32_t kRoot = 0;
  const Node& node(uint32_t number) const { return nodes_[number]; }
  bool has_children(uint32_t number) const { return nodes_[number].end > number + 1; }
  // Calls visit(number, node) of each child, by growing bytes.
  template <typename F>
  void for_each_child(uint32_t number, F visit) const {
    for (uint32_t child = number + 1; child < nodes_[number].end; child = nodes_[child].end)
      visit(child, nodes_[child]);
  }
  // The node's tokens: the vocabulary may have several of the same bytes.
  void add_tokens(const Node& node, TokenSet& set) const {
    if (node.token == kNoToken) return;
    add_token(set, node.token);
    if (!node.several) return;
    for (int32_t token = same_[node.token]; token != kNoToken; token = same_[token]) add_token(set, token);
  }

  // Tokens whose characters are of these kinds: all of them, or all that begin after the first byte.
  struct OfClass {
    TokenSet whole, rest;
  };
  OfClass of_class(const ByteSet& kinds) const;
  // Keeps those with at most `most` such characters, 1 … CharacterRun::kLongest.
  OfClass shorter(OfClass tokens, uint32_t most) const;
  // A node at which a character is known to be of a kind, and the bytes of a token that lead to the node's own.
  struct Exit {
    uint32_t node = 0, bytes = 0;
    int32_t token = 0;
  };
  // Below a node, sorted.
  std::span<const Exit> exits(uint8_t kind, uint32_t number) const;

  int64_t vocabulary() const { return static_cast<int64_t>(bytes_.size()); }
  size_t words() const { return (bytes_.size() + 63) / 64; }
  const std::string& bytes_of(int32_t token) const { return bytes_[token]; }

 private:
  struct Kind {
    std::vector<Exit> exits;      // sorted by their nodes
    std::vector<int32_t> tokens;  // that have such a character after their first byte
    TokenSet many;                // the same, where they are many
  };
  struct Open;
  void add_nodes();
  void close(const Open& open, uint32_t end_token);

  std::vector<std::string> bytes_;
  std::vector<int32_t> same_;    // the next token of the same bytes
  std::vector<int32_t> sorted_;  // by their bytes
  TokenSet all_;                 // that have bytes
  std::vector<Node> nodes_;
  std::vector<Below> below_;
  std::array<Kind, 256> kinds_;
  std::array<TokenSet, 6> later_;  // the number of characters after the first byte, below kLongest, by bits
};

}  // namespace ridge::text
