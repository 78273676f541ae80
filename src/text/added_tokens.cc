#include "text/added_tokens.h"

#include <algorithm>
#include <utility>

#include "text/unicode.h"

namespace ridge::text {
namespace {

bool begins_with_word(std::string_view text) {
  size_t at = 0;
  return !text.empty() && is_word(next_code_point(text, at));
}

size_t last_character(std::string_view text) {
  size_t at = text.size() - 1;
  while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) --at;
  return at;
}

bool ends_with_word(std::string_view text) {
  return !text.empty() && begins_with_word(text.substr(last_character(text)));
}

// Where the white space at the end of `text[from…]` begins.
size_t white_space_at_end(std::string_view text, size_t from) {
  size_t begin = text.size();
  while (begin > from) {
    size_t at = last_character(text.substr(0, begin));
    const size_t character = at;
    if (!is_white_space(next_code_point(text, at))) break;
    begin = character;
  }
  return std::max(begin, from);
}

size_t white_space_at_begin(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at;
    if (!is_white_space(next_code_point(text, at))) return begin;
  }
  return text.size();
}

}  // namespace

Result<AddedTokens> AddedTokens::read(const JsonPart& tokenizer, const Vocabulary& model,
                                      const Normalizer* normalizer) {
  AddedTokens added;
  if (!tokenizer.has("added_tokens")) return added;
  RIDGE_ASSIGN(const std::vector<JsonPart> parts, tokenizer.objects("added_tokens"));
  int32_t next = model.size();
  for (const JsonPart& part : parts) {
    Token token;
    RIDGE_ASSIGN(token.content, part.text("content"));
    RIDGE_ASSIGN(token.single_word, part.boolean_or("single_word", false));
    RIDGE_ASSIGN(token.strip_left, part.boolean_or("lstrip", false));
    RIDGE_ASSIGN(token.strip_right, part.boolean_or("rstrip", false));
    RIDGE_ASSIGN(const bool special, part.boolean_or("special", false));
    RIDGE_ASSIGN(token.normalized, part.boolean_or("normalized", !special));
    if (token.content.empty()) continue;
    auto number = added.token_of(token.content);
    if (!number) number = model.token_of(token.content);
    if (!number) number = next++;
    token.piece = token.content;
    if (token.normalized && normalizer) {
      RIDGE_ASSIGN(token.piece, normalizer->normalize(token.content));
    }
    if (special) added.special_.insert(token.content);
    added.numbers_.insert_or_assign(token.content, *number);
    added.largest_ = std::max(added.largest_, *number);
    added.longest_ = std::max(added.longest_, token.content.size());
    added.tokens_.insert_or_assign(*number, std::move(token));
  }
  for (const auto& [number, token] : added.tokens_)
    insert(added.trees_[token.normalized], token.normalized ? token.piece : token.content, number);
  return added;
}

void AddedTokens::insert(Tree& tree, std::string_view text, int32_t token) {
  if (text.empty()) return;
  if (tree.empty()) tree.emplace_back();
  uint32_t node = 0;
  for (const char byte : text) {
    uint32_t child = child_of(tree[node], byte);
    if (child == 0) {
      child = static_cast<uint32_t>(tree.size());
      tree.emplace_back();
      tree[node].children.emplace_back(static_cast<unsigned char>(byte), child);
    }
    node = child;
  }
  // The smaller number wins among equal texts, whatever the order of the table.
  if (tree[node].token < 0 || token < tree[node].token) tree[node].token = token;
}

uint32_t AddedTokens::child_of(const Node& node, char byte) {
  for (const auto& [label, child] : node.children)
    if (label == static_cast<unsigned char>(byte)) return child;
  return 0;
}

std::vector<Stretch> AddedTokens::find(std::string_view text, bool normalized, size_t most) const {
  std::vector<Stretch> stretches;
  const Tree& tree = trees_[normalized];
  size_t from = 0, found = 0;  // what is not in `stretches` yet; added tokens
  for (size_t at = 0; !tree.empty() && at < text.size();) {
    int32_t number = -1;
    size_t length = 0;
    uint32_t node = 0;
    for (size_t i = at; i < text.size() && (node = child_of(tree[node], text[i])) != 0; ++i)
      if (tree[node].token >= 0) {
        number = tree[node].token;
        length = i + 1 - at;
      }
    if (number < 0) {
      ++at;
      continue;
    }
    size_t begin = at, end = at + length;
    at = end;
    const Token& token = tokens_.at(number);
    if (token.single_word && (ends_with_word(text.substr(0, begin)) || begins_with_word(text.substr(end)))) continue;
    if (token.strip_left) begin = std::max(from, white_space_at_end(text.substr(0, begin), std::min(from, begin)));
    if (token.strip_right) end += white_space_at_begin(text.substr(end));
    if (from < begin) stretches.push_back({text.substr(from, begin - from)});
    stretches.push_back({text.substr(begin, end - begin), number});
    from = end;
    if (found++ == most) return stretches;
  }
  if (from < text.size()) stretches.push_back({text.substr(from)});
  return stretches;
}

std::optional<int32_t> AddedTokens::token_of(std::string_view text) const {
  const auto found = numbers_.find(text);
  return found == numbers_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::string_view> AddedTokens::piece_of(int32_t token) const {
  const auto found = tokens_.find(token);
  return found == tokens_.end() ? std::nullopt : std::optional<std::string_view>(found->second.piece);
}

}  // namespace ridge::text
