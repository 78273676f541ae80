#include "text/vocabulary.h"

#include <fmt/format.h>

#include <algorithm>

namespace ridge::text {

Status Vocabulary::read(const JsonPart& model) {
  RIDGE_ASSIGN(const JsonPart vocabulary, model.object("vocab"));
  tokens_.reserve(vocabulary.members().size());
  for (const auto& member : vocabulary.members()) {
    int64_t token = 0;
    if (member.value.get(token) || token < 0 || token >= INT32_MAX)
      return vocabulary.wrong(member.key, "a number of a token, from 0 to 2147483646");
    tokens_.insert_or_assign(std::string(member.key), static_cast<int32_t>(token));
  }
  pieces_.reserve(tokens_.size());
  for (const auto& [piece, token] : tokens_) {
    if (!pieces_.emplace(token, piece).second)
      return invalid(fmt::format("{}: two tokens have the number {}", vocabulary.where(), token));
    largest_ = std::max(largest_, token);
    longest_ = std::max(longest_, piece.size());
  }
  return ok_status();
}

std::optional<int32_t> Vocabulary::token_of(std::string_view piece) const {
  const auto found = tokens_.find(piece);
  return found == tokens_.end() ? std::nullopt : std::optional(found->second);
}

Result<int32_t> Vocabulary::needed_token(std::string_view piece, const JsonPart& where, std::string_view key) const {
  if (const auto token = token_of(piece)) return *token;
  return invalid(fmt::format("{}: {} '{}' is not in the vocabulary", where.where(), key, piece));
}

std::optional<std::string_view> Vocabulary::piece_of(int32_t token) const {
  const auto found = pieces_.find(token);
  return found == pieces_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace ridge::text
