#include "predict/heap_model.h"

#include <algorithm>
#include <cassert>
#include <iterator>

#include "base/rounding.h"

namespace ridge::predict {
namespace {

constexpr int64_t kPage = 4096;
constexpr int64_t kHeader = 8;                   // before each block of the heap
constexpr int64_t kLeastChunk = 32;              // MINSIZE
constexpr int64_t kTopPad = 128 * 1024;          // M_TOP_PAD
constexpr int64_t kHighestThreshold = 32 << 20;  // DEFAULT_MMAP_THRESHOLD_MAX on 64 bits

int64_t chunk_size(int64_t bytes) { return std::max(kLeastChunk, round_up(bytes + kHeader, 16)); }

}  // namespace

void HeapModel::add_hole(int64_t begin, int64_t end) {
  if (end <= begin) return;
  holes_[begin] = end;
  holes_by_size_.insert({end - begin, begin});
}

void HeapModel::remove_hole(int64_t begin, int64_t end) {
  holes_.erase(begin);
  holes_by_size_.erase({end - begin, begin});
}

// `fresh_` shrinks by what is written now.
void HeapModel::write(int64_t begin, int64_t end) {
  auto at = fresh_.lower_bound(begin);
  if (at != fresh_.begin() && std::prev(at)->second > begin) --at;
  while (at != fresh_.end() && at->first < end) {
    auto [first, last] = *at;
    at = fresh_.erase(at);
    int64_t from = std::max(first, begin), to = std::min(last, end);
    resident_ += to - from;
    if (first < from) fresh_[first] = from;
    if (to < last) at = std::next(fresh_.insert_or_assign(to, last).first);
  }
  note_peak();
}

int64_t HeapModel::take(int64_t size) {
  if (auto best = holes_by_size_.lower_bound({size, 0}); best != holes_by_size_.end()) {
    auto [hole, begin] = *best;
    remove_hole(begin, begin + hole);
    add_hole(begin + size, begin + hole);
    return begin;
  }
  if (heap_end_ - top_ < size + kLeastChunk) {
    int64_t grown = round_up(size + kTopPad + kLeastChunk - (heap_end_ - top_), kPage);
    fresh_[heap_end_] = heap_end_ + grown;
    heap_end_ += grown;
  }
  int64_t begin = top_;
  top_ += size;
  return begin;
}

void HeapModel::give(int64_t begin, int64_t end) {
  if (end <= begin) return;
  if (auto next = holes_.find(end); next != holes_.end()) {
    int64_t after = next->second;
    remove_hole(end, after);
    end = after;
  }
  if (auto next = holes_.lower_bound(begin); next != holes_.begin()) {
    auto before = std::prev(next);
    if (before->second == begin) {
      begin = before->first;
      remove_hole(begin, before->second);
    }
  }
  if (end != top_) return add_hole(begin, end);
  top_ = begin;
}

int64_t HeapModel::take_aligned(int64_t size, int64_t wanted, int64_t alignment) {
  int64_t begin = take(wanted);
  // Blocks lie 16 bytes behind a multiple of the alignment, with their header.
  int64_t moved = alignment > 16 ? round_up(begin + 16, alignment) - 16 - begin : 0;
  if (moved > 0 && moved < kLeastChunk) moved += alignment;
  if (remainders_ == Remainders::kMerge) {
    give(begin + moved + size, begin + wanted);
    give(begin, begin + moved);
  }
  return begin + moved;
}

HeapModel::Block HeapModel::allocate(int64_t bytes, int64_t alignment, int64_t touched) {
  int64_t size = chunk_size(bytes);
  // posix_memalign asks for room to move the block to an aligned address, and gives back what it did not need.
  int64_t wanted = alignment > 16 ? size + alignment + kLeastChunk : size;
  bool fits =
      holes_by_size_.lower_bound({wanted, 0}) != holes_by_size_.end() || heap_end_ - top_ >= wanted + kLeastChunk;
  Chunk chunk;
  if (!fits && wanted >= mmap_threshold_) {
    chunk = {next_mapping_, next_mapping_ + round_up(wanted + kHeader, kPage), true};
    next_mapping_ = chunk.end + kPage;
    fresh_[chunk.begin] = chunk.end;
  } else {
    chunk.begin = take_aligned(size, wanted, alignment);
    chunk.end = chunk.begin + size;
  }
  live_ += chunk.end - chunk.begin;
  blocks_.push_back(chunk);
  Block block = static_cast<Block>(blocks_.size()) - 1;
  touch(block, 0, touched < 0 ? bytes : touched);
  return block;
}

void HeapModel::touch(Block block, int64_t from, int64_t to) {
  const Chunk& chunk = blocks_[static_cast<size_t>(block)];
  if (to > from) write(chunk.begin + from, std::min(chunk.begin + round_up(to + 16, 16), chunk.end));
}

void HeapModel::release(Block block) {
  Chunk& chunk = blocks_[static_cast<size_t>(block)];
  assert(chunk.end > chunk.begin);
  int64_t size = chunk.end - chunk.begin;
  live_ -= size;
  if (chunk.mapped) {
    forget(chunk.begin, chunk.end);
    if (size > mmap_threshold_ && size <= kHighestThreshold) {
      mmap_threshold_ = size;
      trim_threshold_ = 2 * size;
    }
  } else {
    give(chunk.begin, chunk.end);
    if (heap_end_ - top_ >= trim_threshold_) trim();
  }
  chunk.end = chunk.begin;
}

void HeapModel::trim() {
  int64_t kept = round_up(top_ + kTopPad + kLeastChunk, kPage);
  if (kept >= heap_end_) return;
  forget(kept, heap_end_);
  heap_end_ = kept;
}

// Of a range that ends where memory ends, or is a whole mapping.
void HeapModel::forget(int64_t begin, int64_t end) {
  int64_t written = end - begin;
  auto at = fresh_.lower_bound(begin);
  if (at != fresh_.begin() && std::prev(at)->second > begin) {
    written -= std::prev(at)->second - begin;
    std::prev(at)->second = begin;
  }
  for (; at != fresh_.end() && at->first < end; at = fresh_.erase(at)) written -= at->second - at->first;
  resident_ -= written;
}

}  // namespace ridge::predict
