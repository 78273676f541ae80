#include "plan/heap_model.h"

#include <gtest/gtest.h>

namespace ridge::plan {
namespace {

constexpr int64_t kMib = 1 << 20;

TEST(HeapModel, LargeBlocksGetAMappingAndReturnIt) {
  HeapModel heap;
  auto block = heap.allocate(64 * kMib);
  EXPECT_NEAR(static_cast<double>(heap.resident_bytes()), 64.0 * kMib, 8192);
  heap.release(block);
  EXPECT_EQ(heap.resident_bytes(), 0);
  EXPECT_GE(heap.peak_bytes(), 64 * kMib);
}

TEST(HeapModel, OnlyWrittenMemoryIsResident) {
  HeapModel heap;
  auto block = heap.allocate(64 * kMib, 64, 0);
  EXPECT_LT(heap.resident_bytes(), 8192);
  heap.touch(block, 10 * kMib, 11 * kMib);
  EXPECT_NEAR(static_cast<double>(heap.resident_bytes()), 1.0 * kMib, 8192);
  heap.touch(block, 10 * kMib, 11 * kMib);
  EXPECT_NEAR(static_cast<double>(heap.resident_bytes()), 1.0 * kMib, 8192);
}

// Freeing a mapping of 8 MiB raises the threshold to it: the next block of that size lies in the heap.
TEST(HeapModel, FreedBlocksStayOnceTheThresholdHasRisen) {
  HeapModel heap;
  heap.release(heap.allocate(8 * kMib));
  EXPECT_EQ(heap.resident_bytes(), 0);
  auto below = heap.allocate(7 * kMib);
  auto above = heap.allocate(7 * kMib);
  heap.release(below);
  EXPECT_GE(heap.resident_bytes(), 14 * kMib);  // a hole below a block that is in use
  heap.allocate(6 * kMib);
  EXPECT_LT(heap.resident_bytes(), 15 * kMib);  // which later blocks fill
  heap.release(above);
}

TEST(HeapModel, TheTopReturnsToTheSystemWhenItIsLargeEnough) {
  HeapModel heap;
  heap.release(heap.allocate(8 * kMib));  // trim threshold: 16 MiB
  auto first = heap.allocate(7 * kMib);
  auto second = heap.allocate(7 * kMib);
  auto third = heap.allocate(7 * kMib);
  heap.release(third);
  EXPECT_GE(heap.resident_bytes(), 21 * kMib);
  heap.release(second);
  heap.release(first);
  EXPECT_LT(heap.resident_bytes(), kMib);
}

// A block is replaced by its equal again and again: with merged remainders the holes serve, without them half do not.
TEST(HeapModel, RemaindersOfAlignedBlocksDecideWhetherHolesServeAgain) {
  auto grown = [](HeapModel::Remainders remainders) {
    HeapModel heap(remainders);
    heap.release(heap.allocate(8 * kMib));
    std::vector<HeapModel::Block> blocks;
    for (int i = 0; i < 20; ++i) blocks.push_back(heap.allocate(2 * kMib, 64));
    int64_t before = heap.resident_bytes();
    for (auto& block : blocks) {
      auto made = heap.allocate(2 * kMib, 64);
      heap.release(block);
      block = made;
    }
    return heap.resident_bytes() - before;
  };
  EXPECT_LT(grown(HeapModel::Remainders::kMerge), 3 * kMib);
  EXPECT_GT(grown(HeapModel::Remainders::kTaken), 20 * kMib);
}

}  // namespace
}  // namespace ridge::plan
