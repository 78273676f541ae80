#include "predict/arena_model.h"

#include <gtest/gtest.h>

namespace ridge::predict {
namespace {

constexpr int64_t kMib = 1 << 20;

TEST(ArenaModel, RegionsDoubleFromOneMebibyte) {
  HeapModel heap;
  ArenaModel arena(heap);
  arena.allocate(100);
  EXPECT_EQ(arena.reserved_bytes(), 1 * kMib);
  arena.allocate(1 * kMib);  // does not fit beside the first: the next region has 2 MiB
  EXPECT_EQ(arena.reserved_bytes(), 3 * kMib);
  arena.allocate(9 * kMib);  // doubled until it fits
  EXPECT_EQ(arena.reserved_bytes(), 3 * kMib + 16 * kMib);
}

TEST(ArenaModel, OnlyWhatWasGivenOutIsWritten) {
  HeapModel heap;
  ArenaModel arena(heap);
  arena.allocate(33 * kMib);  // a region of 64
  EXPECT_EQ(arena.reserved_bytes(), 64 * kMib);
  EXPECT_NEAR(static_cast<double>(heap.resident_bytes()), 33.0 * kMib, 8192);
}

TEST(ArenaModel, FreedNeighboursMergeAndServeAgain) {
  HeapModel heap;
  ArenaModel arena(heap);
  auto a = arena.allocate(256 * 1024), b = arena.allocate(256 * 1024), c = arena.allocate(256 * 1024);
  arena.release(a);
  arena.release(c);
  arena.release(b);
  arena.allocate(1 * kMib);
  EXPECT_EQ(arena.reserved_bytes(), 1 * kMib);
}

TEST(ArenaModel, AChunkIsNotSplitWhenLessThanHalfWouldBeLeft) {
  HeapModel heap;
  ArenaModel arena(heap);
  arena.allocate(600 * 1024);  // of 1024 KiB: less than twice as much, taken whole
  EXPECT_EQ(arena.in_use_bytes(), 1 * kMib);
  arena.allocate(300 * 1024);
  EXPECT_EQ(arena.reserved_bytes(), 3 * kMib);
}

TEST(ArenaModel, SizesAreRoundedUpTo256) {
  HeapModel heap;
  ArenaModel arena(heap);
  arena.allocate(1);
  EXPECT_EQ(arena.in_use_bytes(), 256);
  EXPECT_EQ(arena.peak_in_use_bytes(), 256);
}

}  // namespace
}  // namespace ridge::predict
