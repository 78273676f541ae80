#include "serve/cache_size.h"

#include <gtest/gtest.h>

namespace ridge::serve {
namespace {

constexpr int64_t kMiB = 1 << 20;

CacheDemand demand(uint64_t free_bytes) {
  return {.shape = {.block_tokens = 32, .bytes_per_block = kMiB},
          .context = 100,
          .most_sequences = 8,
          .free_bytes = free_bytes,
          .file_bytes = 7 * kMiB,
          .weight_bytes = 5 * kMiB};
}

TEST(CacheSize, HoldsTheSequencesThatRun) { EXPECT_EQ(*cache_blocks(demand(1000 * kMiB)), 8 * 4); }

TEST(CacheSize, TakesHalfOfTheFreeMemoryAtMost) { EXPECT_EQ(*cache_blocks(demand(40 * kMiB)), 18); }

TEST(CacheSize, HoldsOneSequenceWhereThatFits) { EXPECT_EQ(*cache_blocks(demand(5 * kMiB)), 4); }

TEST(CacheSize, IsBoundedWhereFreeMemoryIsNotKnown) {
  CacheDemand large = demand(0);
  large.context = 100'000;
  large.most_sequences = 1000;
  EXPECT_EQ(*cache_blocks(large), 4096);
  large.context = 200'000;  // one sequence needs more
  EXPECT_EQ(*cache_blocks(large), 6250);
}

TEST(CacheSize, TakesWhatWasAskedFor) {
  CacheDemand asked = demand(100 * kMiB);
  asked.tokens = 65 * 32 + 1;
  EXPECT_EQ(*cache_blocks(asked), 66);
}

TEST(CacheSize, SaysWhatItTakesAndWhatFits) {
  const auto blocks = cache_blocks(demand(4 * kMiB));
  ASSERT_FALSE(blocks);
  EXPECT_EQ(blocks.error().code, Code::kExhausted);
  for (const char* number : {"4.00 MiB", "4 blocks of 32 tokens", "1.00 MiB", "7.00 MiB", "5.00 MiB", "96 tokens fit"})
    EXPECT_NE(blocks.error().message.find(number), std::string::npos) << number << " in " << blocks.error().message;
  CacheDemand asked = demand(100 * kMiB);
  asked.tokens = 100 * 32;
  EXPECT_NE(cache_blocks(asked).error().message.find("2880 tokens fit"), std::string::npos);
}

}  // namespace
}  // namespace ridge::serve
