#include "predict/heap_model.h"

#include <gtest/gtest.h>

namespace ridge::predict {
namespace {

constexpr int64_t kMegabyte = 1 << 20;

TEST(HeapModel, LargeBlocksGetAMappingAndReturnIt) {
  HeapModel heap;
  auto block = heap.allocate(64 * kMegabyte);
  EXPECT_NEAR(static_cast<double>(heap.resident_bytes()), 64.0 * kMegabyte, 8192);
  heap.release(block);
  EXPECT_EQ(heap.resident_bytes(), 0);
  EXPECT_GE(heap.peak_bytes(), 64 * kMegabyte);
}

TEST(HeapModel, OnlyWrittenMemoryIsResident) {
  HeapModel heap;
  auto block = heap.allocate(64 * kMegabyte, 64, 0);
  EXPECT_LT(heap.resident_bytes(), 8192);
  heap.touch(block, 10 * kMegabyte, 11 * kMegabyte);
  EXPECT_NEAR(static_cast<double>(heap.resident_bytes()), 1.0 * kMegabyte, 8192);
  heap.touch(block, 10 * kMegabyte, 11 * kMegabyte);
  EXPECT_NEAR(static_cast<double>(heap.resident_bytes()), 1.0 * kMegabyte, 8192);
}

// Freeing a mapping of 8 MiB raises the threshold to it: the next block of that size lies in the heap.
TEST(HeapModel, FreedBlocksStayOnceTheThresholdHasRisen) {
  HeapModel heap;
  heap.release(heap.allocate(8 * kMegabyte));
  EXPECT_EQ(heap.resident_bytes(), 0);
  auto below = heap.allocate(7 * kMegabyte);
  auto above = heap.allocate(7 * kMegabyte);
  heap.release(below);
  EXPECT_GE(heap.resident_bytes(), 14 * kMegabyte);  // a hole below a block that is in use
  heap.allocate(6 * kMegabyte);
  EXPECT_LT(heap.resident_bytes(), 15 * kMegabyte);  // which later blocks fill
  heap.release(above);
}

TEST(HeapModel, TheTopReturnsToTheSystemWhenItIsLargeEnough) {
  HeapModel heap;
  heap.release(heap.allocate(8 * kMegabyte));  // trim threshold: 16 MiB
  auto first = heap.allocate(7 * kMegabyte);
  auto second = heap.allocate(7 * kMegabyte);
  auto third = heap.allocate(7 * kMegabyte);
  heap.release(third);
  EXPECT_GE(heap.resident_bytes(), 21 * kMegabyte);
  heap.release(second);
  heap.release(first);
  EXPECT_LT(heap.resident_bytes(), kMegabyte);
}

// A block is replaced by its equal again and again: with merged remainders the holes serve, without them half do not.
TEST(HeapModel, RemaindersOfAlignedBlocksDecideWhetherHolesServeAgain) {
  auto grown = [](HeapModel::Remainders remainders) {
    HeapModel heap(remainders);
    heap.release(heap.allocate(8 * kMegabyte));
    std::vector<HeapModel::Block> blocks;
    for (int i = 0; i < 20; ++i) blocks.push_back(heap.allocate(2 * kMegabyte, 64));
    int64_t before = heap.resident_bytes();
    for (auto& block : blocks) {
      auto made = heap.allocate(2 * kMegabyte, 64);
      heap.release(block);
      block = made;
    }
    return heap.resident_bytes() - before;
  };
  EXPECT_LT(grown(HeapModel::Remainders::kMerge), 3 * kMegabyte);
  EXPECT_GT(grown(HeapModel::Remainders::kTaken), 20 * kMegabyte);
}

}  // namespace
}  // namespace ridge::predict
