// ONNX Runtime's memory arena on CPUs: how it grows, and which of its bytes are ever written.
//
// After onnxruntime/core/framework/bfc_arena.cc: requests are rounded up to 256 bytes; the smallest free chunk that fits is
// taken, from the lowest bin that has one, and split if at least half of it (or 128 MiB) would be left over; freed chunks
// merge with free neighbours of their region. If none fits, a new region is taken from the heap: the region size, 1 MiB at
// first, doubles until the request fits, and doubles after each region that did not need to. Regions are never returned. One
// thread; pure.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "predict/heap_model.h"

namespace ridge::predict {

class ArenaModel {
 public:
  using Chunk = int64_t;  // 0 … : an address, unique over all regions

  explicit ArenaModel(HeapModel& heap) : heap_(heap) {}
  Chunk allocate(int64_t bytes);  // and writes them
  void release(Chunk chunk);

  int64_t reserved_bytes() const { return reserved_; }  // of all regions
  int64_t in_use_bytes() const { return in_use_; }
  int64_t peak_in_use_bytes() const { return peak_in_use_; }

 private:
  struct Region {
    int64_t begin = 0, end = 0;  // addresses
    HeapModel::Block block = 0;
  };
  struct Span {
    int64_t end = 0;
    bool free = true;
  };
  void extend(int64_t bytes);
  void insert_free(int64_t begin, int64_t end);
  void erase_free(int64_t begin, int64_t end);
  bool same_region(int64_t left, int64_t right) const;
  static int bin_of(int64_t bytes);

  HeapModel& heap_;
  std::vector<Region> regions_;
  std::map<int64_t, Span> spans_;                     // begin → all chunks, in order of address
  std::set<std::tuple<int, int64_t, int64_t>> free_;  // bin, size, begin
  int64_t next_region_bytes_ = 1 << 20;
  int64_t next_address_ = 0;
  int64_t reserved_ = 0, in_use_ = 0, peak_in_use_ = 0;
};

}  // namespace ridge::predict
