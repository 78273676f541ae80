#include "generate/n_gram_drafts.h"

#include <utility>

namespace ridge::generate {
namespace {

constexpr int kMostMatches = 32;  // that are compared, the latest first
constexpr size_t kLongest = 32;   // tokens of a match that count

}  // namespace

std::vector<int32_t> NGramDrafts::draft(std::span<const int32_t> tokens, size_t most) {
  for (size_t i = before_.size(); i < tokens.size(); ++i) {
    before_.push_back(-1);
    if (i == 0) continue;
    const uint64_t pair =
        static_cast<uint64_t>(static_cast<uint32_t>(tokens[i - 1])) << 32 | static_cast<uint32_t>(tokens[i]);
    const auto [entry, fresh] = last_.try_emplace(pair, static_cast<int32_t>(i));
    if (!fresh) before_[i] = std::exchange(entry->second, static_cast<int32_t>(i));
  }
  if (tokens.empty() || most == 0) return {};
  const size_t end = tokens.size() - 1;
  size_t longest = 0, place = 0;
  int32_t match = before_[end];
  for (int tried = 0; match >= 0 && tried < kMostMatches; ++tried, match = before_[match]) {
    size_t length = 2;
    const auto at = static_cast<size_t>(match);
    while (length < kLongest && length <= at && tokens[at - length] == tokens[end - length]) ++length;
    if (length <= longest) continue;
    longest = length;
    place = at;
  }
  std::vector<int32_t> draft;
  if (longest == 0) return draft;
  // A match that reaches into the end repeats, as LZ77's copies do.
  for (size_t i = 0; i < most; ++i) {
    const size_t from = place + 1 + i;
    draft.push_back(from <= end ? tokens[from] : draft[from - end - 1]);
  }
  return draft;
}

}  // namespace ridge::generate
