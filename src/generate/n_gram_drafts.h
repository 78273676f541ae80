// Drafts of the next tokens from a sequence's own text: what followed the longest earlier occurrence of its end (prompt
// lookup decoding, Saxena 2023; as LZ77 finds its matches, by a chain of equal pairs). One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace ridge::generate {

class NGramDrafts {
 public:
  // At most `most` tokens that may follow `tokens`, which only grow; empty: its last two tokens are new.
  std::vector<int32_t> draft(std::span<const int32_t> tokens, size_t most);

 private:
  std::unordered_map<uint64_t, int32_t> last_;  // pair of tokens → where it ended last
  std::vector<int32_t> before_;                 // [position] where the pair that ends there ended before; −1: nowhere
};

}  // namespace ridge::generate
