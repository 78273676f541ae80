// WordPiece: a word → numbers of tokens, the longest beginning that is a token first; BERT's model (Devlin et al.,
// arXiv 1810.04805; Schuster and Nakajima, 2012). A word with a rest that no token begins is unknown as a whole.
#pragma once

#include <string>

#include "text/vocabulary.h"
#include "text/word_model.h"

namespace ridge::text {

class WordPiece final : public WordModel {
 public:
  // `vocabulary` outlives it.
  explicit WordPiece(const Vocabulary& vocabulary) : vocabulary_(vocabulary) {}
  Status read(const JsonPart& model) override;
  void encode(std::string_view word, std::vector<int32_t>& tokens, size_t most) const override;

 private:
  const Vocabulary& vocabulary_;
  std::string prefix_;  // of pieces that do not begin a word: "##"
  int32_t unknown_ = 0;
  size_t longest_word_ = 0;  // [characters]
};

}  // namespace ridge::text
