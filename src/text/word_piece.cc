#include "text/word_piece.h"

#include <algorithm>
#include <optional>

#include "text/unicode.h"

namespace ridge::text {

Status WordPiece::read(const JsonPart& model) {
  RIDGE_ASSIGN(prefix_, model.text_or("continuing_subword_prefix", "##"));
  RIDGE_ASSIGN(const std::string_view unknown, model.text_or("unk_token", "[UNK]"));
  RIDGE_ASSIGN(unknown_, vocabulary_.needed_token(unknown, model, "unk_token"));
  RIDGE_ASSIGN(const int64_t longest, model.integer_or("max_input_chars_per_word", 100));
  longest_word_ = static_cast<size_t>(std::max<int64_t>(0, longest));
  return ok_status();
}

void WordPiece::encode(std::string_view word, std::vector<int32_t>& tokens, size_t /*most*/) const {
  const size_t before = tokens.size();
  const auto is_inside = [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; };
  bool known = count_code_points(word) <= longest_word_;
  std::string piece;
  for (size_t begin = 0; known && begin < word.size();) {
    std::optional<int32_t> token;
    size_t end = word.size();
    while (end > begin) {
      piece = begin > 0 ? prefix_ : "";
      piece += word.substr(begin, end - begin);
      if ((token = vocabulary_.token_of(piece))) break;
      do --end;
      while (end > begin && is_inside(word[end]));
    }
    known = token.has_value();
    if (known) tokens.push_back(*token);
    begin = end;
  }
  if (known) return;
  tokens.resize(before);
  tokens.push_back(unknown_);
}

}  // namespace ridge::text
