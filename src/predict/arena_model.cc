#include "predict/arena_model.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <iterator>

namespace ridge::predict {
namespace {

constexpr int64_t kUnit = 256;              // kMinAllocationSize
constexpr int64_t kMostDead = 128 << 20;    // DEFAULT_MAX_DEAD_BYTES_PER_CHUNK
constexpr int kBins = 21;                   // kNumBins
constexpr int64_t kAlignment = 64;          // of the CPU allocator: MlasGetPreferredBufferAlignment
constexpr int64_t kGap = int64_t{1} << 40;  // between regions, so that addresses tell them apart

}  // namespace

int ArenaModel::bin_of(int64_t bytes) {
  auto units = static_cast<uint64_t>(std::max(bytes, kUnit)) / kUnit;
  return std::min(kBins - 1, static_cast<int>(std::bit_width(units)) - 1);
}

void ArenaModel::insert_free(int64_t begin, int64_t end) {
  spans_[begin] = {end, true};
  free_.insert({bin_of(end - begin), end - begin, begin});
}

void ArenaModel::erase_free(int64_t begin, int64_t end) {
  spans_.erase(begin);
  free_.erase({bin_of(end - begin), end - begin, begin});
}

bool ArenaModel::same_region(int64_t left, int64_t right) const { return left / kGap == right / kGap; }

void ArenaModel::extend(int64_t bytes) {
  bool grown = false;
  while (bytes > next_region_bytes_) {
    next_region_bytes_ *= 2;
    grown = true;
  }
  int64_t size = next_region_bytes_;
  if (!grown) next_region_bytes_ *= 2;
  int64_t begin = static_cast<int64_t>(regions_.size()) * kGap;
  regions_.push_back({begin, begin + size, heap_.allocate(size, kAlignment, 0)});
  reserved_ += size;
  insert_free(begin, begin + size);
}

ArenaModel::Chunk ArenaModel::allocate(int64_t bytes) {
  int64_t size = (std::max<int64_t>(bytes, 1) + kUnit - 1) / kUnit * kUnit;
  auto found = free_.lower_bound({bin_of(size), size, 0});
  if (found == free_.end()) {
    extend(size);
    found = free_.lower_bound({bin_of(size), size, 0});
  }
  auto [bin, whole, begin] = *found;
  erase_free(begin, begin + whole);
  int64_t taken = whole >= 2 * size || whole - size >= kMostDead ? size : whole;
  if (taken < whole) insert_free(begin + taken, begin + whole);
  spans_[begin] = {begin + taken, false};
  const Region& region = regions_[static_cast<size_t>(begin / kGap)];
  heap_.touch(region.block, begin - region.begin, begin - region.begin + size);
  in_use_ += taken;
  peak_in_use_ = std::max(peak_in_use_, in_use_);
  return begin;
}

void ArenaModel::release(Chunk chunk) {
  auto at = spans_.find(chunk);
  assert(at != spans_.end() && !at->second.free);
  int64_t begin = chunk, end = at->second.end;
  in_use_ -= end - begin;
  if (auto next = std::next(at); next != spans_.end() && next->second.free && same_region(begin, next->first)) {
    int64_t after = next->second.end;
    erase_free(next->first, after);
    end = after;
  }
  at = spans_.find(chunk);
  if (at != spans_.begin()) {
    auto before = std::prev(at);
    if (before->second.free && same_region(before->first, chunk)) {
      int64_t from = before->first, to = before->second.end;
      erase_free(from, to);
      begin = from;
    }
  }
  spans_.erase(chunk);
  insert_free(begin, end);
}

}  // namespace ridge::predict
