#include "zoo/byte_pairs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "base/file.h"
#include "zoo/corpus.h"

namespace ridge::zoo {
namespace {

using testing::ElementsAre;
using testing::Pair;

TEST(BytePairs, MergesTheMostFrequentPairFirstAndTheOlderOneOfEqualPairs) {
  const std::string_view text = "ab ab ab cd";  // words: ab, " ab" twice, " cd"
  const BytePairs learnt = learn_byte_pairs(std::span(&text, 1), 1000);
  EXPECT_THAT(learnt.merges, ElementsAre(Pair("a", "b"), Pair(" ", "ab"), Pair(" ", "c"), Pair(" c", "d")));
  EXPECT_EQ(learnt.tokens.size(), 256 + 4);
  EXPECT_EQ(learnt.tokens.back(), " cd");
}

TEST(BytePairs, StopsAtTheNumberAskedFor) {
  const std::string_view text = "ab ab ab cd";
  EXPECT_THAT(learn_byte_pairs(std::span(&text, 1), 257).merges, ElementsAre(Pair("a", "b")));
}

// "aaaa" is two pairs of aa, not three.
TEST(BytePairs, MergesPairsThatOverlapFromTheLeft) {
  const std::string_view text = "aaaaa";
  EXPECT_THAT(learn_byte_pairs(std::span(&text, 1), 1000).merges,
              ElementsAre(Pair("a", "a"), Pair("aa", "a"), Pair("aa", "aaa")));
}

// Counts every pair again after each merge.
std::vector<std::pair<std::string, std::string>> slow_merges(std::string_view text, size_t most) {
  std::map<std::string_view, int> counts;
  for (const std::string_view word : split_words(text)) ++counts[word];
  std::vector<std::pair<std::vector<std::string>, int>> words;
  for (const auto& [word, count] : counts) {
    words.push_back({{}, count});
    for (const char byte : word) words.back().first.emplace_back(1, byte);
  }
  std::map<std::string, int> age;
  for (int byte = 0; byte < 256; ++byte) age[std::string(1, static_cast<char>(byte))] = byte;
  std::vector<std::pair<std::string, std::string>> merges;
  while (merges.size() < most) {
    std::map<std::pair<int, int>, std::pair<int, std::pair<std::string, std::string>>> pairs;
    for (const auto& [tokens, count] : words)
      for (size_t i = 0; i + 1 < tokens.size(); ++i) {
        auto& entry = pairs[{age[tokens[i]], age[tokens[i + 1]]}];
        entry.first += count;
        entry.second = {tokens[i], tokens[i + 1]};
      }
    int best = 0;
    std::pair<std::string, std::string> merge;
    for (const auto& [ages, entry] : pairs)
      if (entry.first > best) best = entry.first, merge = entry.second;
    if (best == 0) break;
    merges.push_back(merge);
    age.try_emplace(merge.first + merge.second, static_cast<int>(age.size()));
    for (auto& [tokens, count] : words)
      for (size_t i = 0; i + 1 < tokens.size(); ++i)
        if (tokens[i] == merge.first && tokens[i + 1] == merge.second) {
          tokens[i] += tokens[i + 1];
          tokens.erase(tokens.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        }
  }
  return merges;
}

TEST(BytePairs, AreThoseOfASlowLearner) {
  const std::string_view text = document("install").substr(0, 2500);
  const auto slow = slow_merges(text, 400);
  EXPECT_EQ(slow.size(), 400);
  BytePairs learnt = learn_byte_pairs(std::span(&text, 1), 2000);
  learnt.merges.resize(400);
  EXPECT_EQ(learnt.merges, slow);
}

// As `regex` splits it with Llama 3's pattern.
TEST(SplitWords, SplitsAsThePatternOfLlama3) {
  EXPECT_THAT(
      split_words("It's 12345 km/h,\n\n  next  line \r\n!=x"),
      ElementsAre("It", "'s", " ", "123", "45", " km", "/h", ",\n\n", " ", " next", " ", " line", " \r\n", "!=", "x"));
  EXPECT_THAT(split_words("中文，α²  "), ElementsAre("中文", "，α", "²", "  "));
  EXPECT_THAT(split_words("WE'LL \t'x"), ElementsAre("WE", "'LL", " ", "\t", "'x"));
}

TEST(SplitWords, LosesNothing) {
  for (const std::string_view text : corpus()) {
    std::string joined;
    for (const std::string_view word : split_words(text)) joined += word;
    EXPECT_TRUE(joined == text);
  }
}

TEST(Corpus, HasEveryTextOfExplainInBothLanguages) {
  size_t files = 0;
  for (const char* language : {"en", "zh"})
    for (const auto& file :
         std::filesystem::directory_iterator(std::string(RIDGE_SOURCE_DIR) + "/data/explain/" + language)) {
      if (file.path().extension() != ".md" || file.path().stem() == "flags") continue;
      const std::string text = read_file(file.path().string()).value();
      const std::vector<std::string_view> texts = corpus();
      EXPECT_TRUE(std::find(texts.begin(), texts.end(), text) != texts.end()) << file.path();
      ++files;
    }
  EXPECT_GE(files, 20);
  for (const std::string_view text : corpus()) EXPECT_FALSE(text.empty());
}

}  // namespace
}  // namespace ridge::zoo
