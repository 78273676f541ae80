// Tokens that are looked for in a text before the model sees it ("<|im_start|>"): "added_tokens" of tokenizer.json.
// Immutable, thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "text/json_part.h"
#include "text/normalizer.h"
#include "text/vocabulary.h"

namespace ridge::text {

// A stretch of a text: an added token, or what lies between such.
struct Stretch {
  std::string_view text;
  int32_t token = -1;  // -1: none
};

class AddedTokens {
 public:
  // Numbers are the model's where it knows the text, else those after it, in order, as the library gives them.
  static Result<AddedTokens> read(const JsonPart& tokenizer, const Vocabulary& model, const Normalizer* normalizer);

  // Looks for those that are found before normalizing, or those after it: the leftmost, of them the longest. Behind
  // `most` of them and one more the text is left out.
  std::vector<Stretch> find(std::string_view text, bool normalized, size_t most) const;

  std::optional<int32_t> token_of(std::string_view text) const;
  // The text that decoding matches; normalized if the token is declared so.
  std::optional<std::string_view> piece_of(int32_t token) const;
  bool is_special(std::string_view piece) const { return special_.contains(piece); }
  int32_t largest() const { return largest_; }
  size_t longest() const { return longest_; }  // [bytes] of a text

 private:
  struct Token {
    std::string content, piece;
    bool single_word = false, strip_left = false, strip_right = false, normalized = false;
  };
  // A tree of bytes; node 0 is its root.
  struct Node {
    std::vector<std::pair<unsigned char, uint32_t>> children;
    int32_t token = -1;
  };
  using Tree = std::vector<Node>;
  static void insert(Tree& tree, std::string_view text, int32_t token);
  static uint32_t child_of(const Node& node, char byte);

  std::unordered_map<int32_t, Token> tokens_;
  std::unordered_map<std::string, int32_t, StringHash, std::equal_to<>> numbers_;
  std::unordered_set<std::string, StringHash, std::equal_to<>> special_;
  std::array<Tree, 2> trees_;  // by `normalized`
  int32_t largest_ = -1;
  size_t longest_ = 0;
};

}  // namespace ridge::text
