#include "zoo/byte_pairs.h"

#include <algorithm>
#include <map>
#include <queue>
#include <unordered_map>
#include <unordered_set>

namespace ridge::zoo {
namespace {

// ----------------------------------------------------------------------------------------------------------- words

enum class Kind { kLetter, kNumber, kSpace, kLineEnd, kSymbol };

struct Character {
  Kind kind = Kind::kSymbol;
  size_t size = 0;  // [bytes]
};

struct KindRange {
  char32_t first, last;
  Kind kind;
};
// Unicode's general categories: L*, N*, white space. What is not listed counts as a symbol.
constexpr KindRange kRanges[] = {
    {'\t', '\t', Kind::kSpace},      {'\n', '\n', Kind::kLineEnd},    {'\v', '\f', Kind::kSpace},
    {'\r', '\r', Kind::kLineEnd},    {' ', ' ', Kind::kSpace},        {'0', '9', Kind::kNumber},
    {'A', 'Z', Kind::kLetter},       {'a', 'z', Kind::kLetter},       {0x85, 0x85, Kind::kSpace},
    {0xA0, 0xA0, Kind::kSpace},      {0xAA, 0xAA, Kind::kLetter},     {0xB2, 0xB3, Kind::kNumber},
    {0xB5, 0xB5, Kind::kLetter},     {0xB9, 0xB9, Kind::kNumber},     {0xBA, 0xBA, Kind::kLetter},
    {0xBC, 0xBE, Kind::kNumber},     {0xC0, 0xD6, Kind::kLetter},     {0xD8, 0xF6, Kind::kLetter},
    {0xF8, 0x2C1, Kind::kLetter},    {0x386, 0x386, Kind::kLetter},   {0x388, 0x3FF, Kind::kLetter},
    {0x2000, 0x200A, Kind::kSpace},  {0x2070, 0x2070, Kind::kNumber}, {0x2071, 0x2071, Kind::kLetter},
    {0x2074, 0x2079, Kind::kNumber}, {0x207F, 0x207F, Kind::kLetter}, {0x2080, 0x2089, Kind::kNumber},
    {0x2460, 0x249B, Kind::kNumber}, {0x3000, 0x3000, Kind::kSpace},  {0x4E00, 0x9FFF, Kind::kLetter},
};

// The character at `at`; a byte that begins none is a symbol of its own.
Character character_at(std::string_view text, size_t at) {
  const auto byte = static_cast<unsigned char>(text[at]);
  const size_t size = byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
  if ((byte >= 0x80 && byte < 0xC0) || at + size > text.size()) return {Kind::kSymbol, 1};
  char32_t code = size == 1 ? byte : byte & (0x7FU >> size);
  for (size_t i = 1; i < size; ++i) code = code << 6 | (static_cast<unsigned char>(text[at + i]) & 0x3F);
  const auto* above = std::upper_bound(std::begin(kRanges), std::end(kRanges), code,
                                       [](char32_t c, const KindRange& range) { return c < range.first; });
  const bool listed = above != std::begin(kRanges) && code <= std::prev(above)->last;
  return {listed ? std::prev(above)->kind : Kind::kSymbol, size};
}

bool blank(Kind kind) { return kind == Kind::kSpace || kind == Kind::kLineEnd; }

// End of the characters of `kind` from `at` on, `most` at most.
size_t end_of(Kind kind, std::string_view text, size_t at, size_t most = SIZE_MAX) {
  for (size_t n = 0; n < most && at < text.size(); ++n) {
    const Character character = character_at(text, at);
    if (character.kind != kind) break;
    at += character.size;
  }
  return at;
}

// 's 't 're 've 'm 'll 'd, in either case. 0: there is none.
size_t contraction_size(std::string_view text) {
  if (text.size() < 2 || text[0] != '\'') return 0;
  const auto lower = [&](size_t i) { return i < text.size() ? static_cast<char>(text[i] | 0x20) : '\0'; };
  if (std::string_view("stmd").find(lower(1)) != std::string_view::npos) return 2;
  const std::string two = {lower(1), lower(2)};
  return two == "re" || two == "ve" || two == "ll" ? 3 : 0;
}

// White space: up to its last line end; else all but the last, which belongs to the word after it.
size_t end_of_blanks(std::string_view text, size_t at) {
  size_t end = at, last = at, after_line_end = at;
  while (end < text.size()) {
    const Character character = character_at(text, end);
    if (!blank(character.kind)) break;
    last = end;
    end += character.size;
    if (character.kind == Kind::kLineEnd) after_line_end = end;
  }
  if (after_line_end > at) return after_line_end;
  return end == text.size() || last == at ? end : last;
}

// The alternatives of Llama 3's pattern, in its order.
size_t end_of_word(std::string_view text, size_t at) {
  if (const size_t size = contraction_size(text.substr(at)); size > 0) return at + size;
  const Character first = character_at(text, at);
  const size_t second = at + first.size;
  const bool letter_follows = second < text.size() && character_at(text, second).kind == Kind::kLetter;
  if (first.kind == Kind::kLetter) return end_of(Kind::kLetter, text, at);
  if ((first.kind == Kind::kSpace || first.kind == Kind::kSymbol) && letter_follows)
    return end_of(Kind::kLetter, text, second);
  if (first.kind == Kind::kNumber) return end_of(Kind::kNumber, text, at, 3);
  const size_t symbols = text[at] == ' ' ? second : at;
  if (const size_t end = end_of(Kind::kSymbol, text, symbols); end > symbols) return end_of(Kind::kLineEnd, text, end);
  return end_of_blanks(text, at);
}

// ---------------------------------------------------------------------------------------------------------- merges

struct Word {
  std::vector<int32_t> tokens;
  int64_t count = 0;
};

using Pair = std::pair<int32_t, int32_t>;
struct PairHash {
  size_t operator()(const Pair& pair) const {
    return std::hash<uint64_t>()(static_cast<uint64_t>(pair.first) << 32 | static_cast<uint32_t>(pair.second));
  }
};
struct Occurrences {
  int64_t count = 0;
  std::unordered_set<size_t> words;  // that had it; it may have gone from some
};
struct QueuedPair {
  int64_t count;
  Pair pair;
  bool operator<(const QueuedPair& other) const {  // the largest is taken first
    return count != other.count ? count < other.count : pair > other.pair;
  }
};

class PairLearner {
 public:
  explicit PairLearner(std::span<const std::string_view> documents) {
    for (int byte = 0; byte < 256; ++byte) answer_.tokens.emplace_back(1, static_cast<char>(byte));
    for (size_t i = 0; i < answer_.tokens.size(); ++i) numbers_[answer_.tokens[i]] = static_cast<int32_t>(i);
    std::map<std::string_view, int64_t> counts;
    for (const std::string_view document : documents)
      for (const std::string_view word : split_words(document)) ++counts[word];
    for (const auto& [text, count] : counts) {
      Word& word = words_.emplace_back();
      word.count = count;
      for (const char byte : text) word.tokens.push_back(static_cast<unsigned char>(byte));
    }
    for (size_t i = 0; i < words_.size(); ++i) count_pairs(i, +1);
    for (const auto& [pair, occurrences] : pairs_) queue_.push({occurrences.count, pair});
  }

  BytePairs learn(size_t most_tokens) && {
    while (answer_.tokens.size() < most_tokens && !queue_.empty()) {
      const QueuedPair best = queue_.top();
      queue_.pop();
      const int64_t count = pairs_[best.pair].count;
      if (count == best.count) {
        merge(best.pair);
      } else if (count > 0) {
        queue_.push({count, best.pair});
      }
    }
    return std::move(answer_);
  }

 private:
  void count_pairs(size_t index, int sign) {
    const Word& word = words_[index];
    for (size_t i = 0; i + 1 < word.tokens.size(); ++i) {
      Occurrences& occurrences = pairs_[{word.tokens[i], word.tokens[i + 1]}];
      occurrences.count += sign * word.count;
      if (sign > 0) occurrences.words.insert(index);
    }
  }

  int32_t number_of(const std::string& text) {
    const auto [at, is_new] = numbers_.try_emplace(text, static_cast<int32_t>(answer_.tokens.size()));
    if (is_new) answer_.tokens.push_back(text);
    return at->second;
  }

  void merge(Pair pair) {
    const std::string left = answer_.tokens[static_cast<size_t>(pair.first)];
    const std::string right = answer_.tokens[static_cast<size_t>(pair.second)];
    answer_.merges.emplace_back(left, right);
    const int32_t merged = number_of(left + right);
    const std::unordered_set<size_t> words = std::move(pairs_[pair].words);
    pairs_.erase(pair);
    std::unordered_set<Pair, PairHash> changed;
    for (const size_t index : words) {
      std::vector<int32_t>& tokens = words_[index].tokens;
      count_pairs(index, -1);
      size_t kept = 0;
      for (size_t i = 0; i < tokens.size(); ++i) {
        const bool here = i + 1 < tokens.size() && tokens[i] == pair.first && tokens[i + 1] == pair.second;
        tokens[kept++] = here ? merged : tokens[i];
        if (here) ++i;
      }
      tokens.resize(kept);
      count_pairs(index, +1);
      for (size_t i = 0; i + 1 < tokens.size(); ++i)
        if (tokens[i] == merged || tokens[i + 1] == merged) changed.insert({tokens[i], tokens[i + 1]});
    }
    pairs_.erase(pair);  // taking its counts away may have brought it back
    for (const Pair& neighbour : changed) queue_.push({pairs_[neighbour].count, neighbour});
  }

  BytePairs answer_;
  std::unordered_map<std::string, int32_t> numbers_;  // of the tokens
  std::vector<Word> words_;
  std::unordered_map<Pair, Occurrences, PairHash> pairs_;
  std::priority_queue<QueuedPair> queue_;
};

}  // namespace

std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> words;
  for (size_t at = 0; at < text.size();) {
    const size_t end = end_of_word(text, at);
    words.push_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

BytePairs learn_byte_pairs(std::span<const std::string_view> documents, size_t most_tokens) {
  return PairLearner(documents).learn(most_tokens);
}

}  // namespace ridge::zoo
