// Learns a byte-level BPE vocabulary from text (Sennrich and others, arXiv:1508.07909; bytes as in GPT-2). Pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ridge::zoo {

struct BytePairs {
  std::vector<std::string> tokens;                          // the 256 bytes, then what the merges add, each once
  std::vector<std::pair<std::string, std::string>> merges;  // in order of rank
};

// Up to `most_tokens` tokens; fewer only where every word has become one. The most frequent pair is merged first, of equally frequent
// ones that of the older tokens. The same documents give the same answer.
BytePairs learn_byte_pairs(std::span<const std::string_view> documents, size_t most_tokens);

// The documents' words as the pattern of Llama 3 splits them, for letters and numbers of the scripts that the documents have: Latin, Greek and
// Chinese. Other characters count as symbols: text that has them gets fewer merges, and is encoded all the same.
std::vector<std::string_view> split_words(std::string_view text);

}  // namespace ridge::zoo
