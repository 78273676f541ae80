#include "generate/block_pool.h"

#include <gtest/gtest.h>

namespace ridge::generate {
namespace {

using Tokens = std::vector<int32_t>;

TEST(BlockPool, GivesEachBlockOnce) {
  BlockPool pool(3, 2);
  std::vector<bool> seen(3);
  for (int i = 0; i < 3; ++i) {
    const auto block = pool.take();
    ASSERT_TRUE(block);
    EXPECT_FALSE(seen[*block]);
    seen[*block] = true;
  }
  EXPECT_FALSE(pool.take());
  pool.release(1);
  EXPECT_EQ(pool.free(), 1);
  EXPECT_EQ(pool.take(), 1);
}

TEST(BlockPool, FindsContentByAllTokensBeforeIt) {
  BlockPool pool(4, 2);
  const int32_t first = *pool.take(), second = *pool.take();
  EXPECT_EQ(pool.fill(first, 0, Tokens{1, 2}), first);
  EXPECT_EQ(pool.fill(second, pool.content(first), Tokens{3, 4}), second);
  EXPECT_EQ(pool.find(0, Tokens{1, 2}), first);
  EXPECT_EQ(pool.find(pool.content(first), Tokens{3, 4}), second);
  EXPECT_FALSE(pool.find(0, Tokens{3, 4}));
  EXPECT_FALSE(pool.find(pool.content(second), Tokens{3, 4}));
  EXPECT_FALSE(pool.find(0, Tokens{2, 1}));
}

TEST(BlockPool, FreeContentStaysUntilItIsTakenTheOldestFirst) {
  BlockPool pool(3, 1);
  for (int32_t i = 0; i < 3; ++i) pool.fill(*pool.take(), 0, Tokens{i});
  const int32_t zero = *pool.find(0, Tokens{0}), one = *pool.find(0, Tokens{1}), two = *pool.find(0, Tokens{2});
  pool.release(one);
  pool.release(zero);
  pool.release(two);
  EXPECT_EQ(pool.free(), 3);
  pool.hold(one);  // used again, so it becomes the youngest
  pool.release(one);
  EXPECT_EQ(pool.take(), zero);
  EXPECT_FALSE(pool.find(0, Tokens{0}));
  EXPECT_EQ(pool.find(0, Tokens{1}), one);
  // A block without content goes first.
  pool.release(zero);
  EXPECT_EQ(pool.take(), zero);
  EXPECT_EQ(pool.take(), two);
  EXPECT_EQ(pool.take(), one);
}

TEST(BlockPool, OfTwoEqualContentsOneIsKept) {
  BlockPool pool(3, 1);
  const int32_t mine = *pool.take(), yours = *pool.take();
  EXPECT_EQ(pool.fill(mine, 0, Tokens{5}), mine);
  EXPECT_EQ(pool.fill(yours, 0, Tokens{5}), mine);
  EXPECT_EQ(pool.references(mine), 2);
  EXPECT_EQ(pool.references(yours), 0);
  EXPECT_EQ(pool.free(), 2);
}

TEST(BlockPool, AContentAfterOneThatIsGoneIsNotFound) {
  BlockPool pool(2, 1);
  const int32_t first = *pool.take(), second = *pool.take();
  pool.fill(first, 0, Tokens{1});
  pool.fill(second, pool.content(first), Tokens{2});
  pool.release(first);
  EXPECT_EQ(pool.take(), first);
  pool.fill(first, 0, Tokens{1});  // computed again, perhaps by another decoder step: a new content
  EXPECT_FALSE(pool.find(pool.content(first), Tokens{2}));
}

}  // namespace
}  // namespace ridge::generate
