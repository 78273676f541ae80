#include "generate/n_gram_drafts.h"

#include <gtest/gtest.h>

namespace ridge::generate {
namespace {

using Tokens = std::vector<int32_t>;

TEST(NGramDrafts, ContinueTheLongestEarlierMatch) {
  NGramDrafts drafts;
  // "1 2" came twice; with the 9 before it only the first time.
  const Tokens tokens = {9, 1, 2, 3, 4, 8, 1, 2, 7, 7, 9, 1, 2};
  EXPECT_EQ(drafts.draft(tokens, 3), (Tokens{3, 4, 8}));
}

TEST(NGramDrafts, OfEqualMatchesTakeTheLatest) {
  NGramDrafts drafts;
  EXPECT_EQ(drafts.draft(Tokens{1, 2, 3, 0, 1, 2, 4, 5, 1, 2}, 1), Tokens{4});
}

TEST(NGramDrafts, AMatchThatReachesTheEndRepeats) {
  NGramDrafts drafts;
  EXPECT_EQ(drafts.draft(Tokens{5, 6, 7, 5, 6, 7, 5, 6}, 7), (Tokens{7, 5, 6, 7, 5, 6, 7}));
  NGramDrafts same;
  EXPECT_EQ(same.draft(Tokens{4, 4, 4}, 3), (Tokens{4, 4, 4}));
}

TEST(NGramDrafts, ThereAreNoneWithoutAMatch) {
  NGramDrafts drafts;
  EXPECT_TRUE(drafts.draft(Tokens{}, 3).empty());
  EXPECT_TRUE(drafts.draft(Tokens{1}, 3).empty());
  EXPECT_TRUE(drafts.draft(Tokens{1, 2, 3, 2}, 3).empty());
  EXPECT_EQ(drafts.draft(Tokens{1, 2, 3, 2, 3}, 2), (Tokens{2, 3}));
}

}  // namespace
}  // namespace ridge::generate
