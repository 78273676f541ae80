// The tokens of a vocabulary by their bytes, as a tree, with what token masks need of it: made once per tokenizer and shared. Not for encoding. Immutable;
// thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "text/json_lexer.h"

namespace ridge::text {

// A set of tokens: bit t % 64 of word t / 64.
using TokenSet = std::vector<uint64_t>;
inline void add_token(TokenSet& set, int32_t token) { set[token / 64] |= uint64_t{1} << (token % 64); }
inline void remove_token(TokenSet& set, int32_t token) { set[token / 64] &= ~(uint64_t{1} << (token % 64)); }

class TokenTrie {
 public:
  static constexpr size_t kLongestToken = 1024;  // [bytes]
  static constexpr int32_t kNoToken = -1;

  // `tokens`: the bytes that each stands for within a text, by its number. Empty, as special tokens have to be, or longer than kLongestToken: never in a mask.
  explicit TokenTrie(std::span<const std::string> tokens);

  // In preorder: the nodes below one follow it, up to `end`.
  struct Node {
    uint32_t end = 0;
    int32_t token = kNoToken;
    uint32_t below = 0;  // 0: nothing is known of what is below
    uint8_t byte = 0;
    bool several = false;  // tokens of these bytes
  };
  // What may follow a node as text: the first bytes of the characters that begin in it, and how many do at most; 80,
  // where other bytes follow. The tokens there.
  struct Below {
    ByteSet first_bytes;
    uint32_t characters = 0, first_token = 0, end_token = 0;
    TokenSet many = {};  // the same tokens, where they are many
  };
  // Of a node that has many below it; null of others.
  const Below* below(uint32_t number) const {
    return nodes_[number].below > 0 ? &below_[nodes_[number].below] : nullptr;
  }
  void add_all_tokens(const Below& below, TokenSet& set) const {
    for (size_t i = 0; i < below.many.size(); ++i) set[i] |= below.many[i];
    for (uint32_t i = below.first_token; i < below.end_token && below.many.empty(); ++i) add_token(set, sorted_[i]);
  }
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

  // Tokens all of whose characters begin with such bytes, and where others leave them: by which byte, after how many
  // characters.
  struct OfClass {
    TokenSet tokens;
    struct Exit {
      uint8_t byte = 0;
      uint32_t characters = 0, node = 0;
      auto operator<=>(const Exit&) const = default;
    };
    std::vector<Exit> exits;  // sorted
  };
  OfClass of_class(const ByteSet& first_bytes) const;
  // Takes tokens of a class that have at most so many characters.
  void add_short(const TokenSet& tokens, uint32_t characters, TokenSet& set) const;

  int64_t vocabulary() const { return static_cast<int64_t>(bytes_.size()); }
  size_t words() const { return (bytes_.size() + 63) / 64; }
  const std::string& bytes_of(int32_t token) const { return bytes_[token]; }

  // What may come between the quotes of a string, whatever stands around it.
  struct WithinQuotes {
    TokenSet tokens;                                      // that the string does not end in
    std::vector<std::pair<uint32_t, int32_t>> by_length;  // the same: characters that begin in it, token; most first
    struct End {
      uint32_t node = 0, characters = 0;  // where the quote is, and the characters before it
    };
    std::vector<End> ends;
    std::span<const std::pair<uint32_t, int32_t>> longer_than(uint32_t characters) const;
  };
  // Of a lexer's state; null: it is not between quotes.
  const WithinQuotes* within_quotes(uint32_t lexer_state) const {
    return lexer_state < within_.size() && within_[lexer_state] ? &*within_[lexer_state] : nullptr;
  }

 private:
  void add_nodes();
  // Looks at what is below a node at which the lexer stands so; the number of the first token there becomes that of the
  // first after it.
  Below look_below(uint32_t number, uint32_t lexer_state, uint32_t& token);
  WithinQuotes look_within_quotes(uint32_t lexer_state) const;

  std::vector<std::string> bytes_;
  std::vector<int32_t> same_;        // the next token of the same bytes
  std::vector<uint8_t> characters_;  // by token, that begin in it; 255: more
  std::vector<int32_t> sorted_;      // by their bytes
  std::vector<Node> nodes_;
  std::vector<Below> below_;
  std::vector<std::optional<WithinQuotes>> within_;
};

}  // namespace ridge::text
