// Byte-pair encoding: a word → numbers of tokens, by merging neighbours, the pair of the lowest rank first (Sennrich et
// al., arXiv 1508.07909). Time grows with the word; memory beside its tokens does not. Has a cache of words.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "text/vocabulary.h"
#include "text/word_model.h"

namespace ridge::text {

class Bpe final : public WordModel {
 public:
  // `vocabulary` outlives it.
  explicit Bpe(const Vocabulary& vocabulary) : vocabulary_(vocabulary) {}
  Status read(const JsonPart& model) override;
  void encode(std::string_view word, std::vector<int32_t>& tokens, size_t most) const override;

 private:
  struct Rule {
    uint64_t pair = ~uint64_t{0};  // left token << 32 | right token; all ones: an empty slot
    uint32_t rank = 0;
    int32_t token = 0;
  };
  struct Symbol {
    int32_t token;            // negative: merged into the one before it
    uint32_t previous, next;  // without a meaning at the first, the number of symbols at the last
  };
  class SymbolReader;
  struct Shelf {
    mutable Mutex mutex;
    mutable std::unordered_map<std::string, std::vector<int32_t>, StringHash, std::equal_to<>> words
        RIDGE_GUARDED_BY(mutex);
  };

  Status read_rules(const JsonPart& model);
  Status add_rule(std::string_view left, std::string_view right, uint32_t rank, size_t prefix);
  const Rule* rule_of(int32_t left, int32_t right) const;
  void put(Rule rule);
  // One symbol for each of them, those that are merged into one before them included.
  std::vector<Symbol> merge(std::span<const int32_t> tokens) const;
  bool encode_by_windows(size_t window, std::string_view word, std::vector<int32_t>& tokens, size_t most) const;

  const Vocabulary& vocabulary_;
  std::vector<Rule> rules_;                 // a hash table of 2^n slots, at most half full
  std::array<int32_t, 256> byte_tokens_{};  // of "<0x00>"…; -1: none
  std::string subword_prefix_, word_suffix_;
  std::optional<int32_t> unknown_;
  bool fuse_unknown_ = false, byte_fallback_ = false, ignore_merges_ = false;
  std::array<Shelf, 16> shelves_;
};

}  // namespace ridge::text
