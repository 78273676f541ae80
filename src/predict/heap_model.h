// How the C library's heap grows and keeps memory: glibc's malloc, as far as blocks of a kilobyte and more are concerned.
// Loading a model allocates and frees its weights several times over; what the process then holds depends on which holes
// the heap can fill again and what it returns to the system.
//
// After glibc 2.36, malloc/malloc.c: blocks from the mmap threshold on get a mapping of their own, unless a hole fits; freeing
// a mapping raises the threshold to its size (at most 32 MiB) and the trim threshold to twice that; holes are filled best fit
// and merge with their neighbours; the top goes back to the system when it exceeds the trim threshold. Thread caches and
// bins of small blocks are not modelled. One thread; pure.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

namespace ridge::predict {

class HeapModel {
 public:
  using Block = int;
  // What becomes of the few bytes before and after an aligned block. Either they merge with the hole that the block leaves
  // one day, or small blocks, which are not modelled, take them, and neighbours never merge again. Both happen, by chance:
  // loading bert-base ends at 482 MB in some runs and at 699 MB in others.
  enum class Remainders { kMerge, kTaken };
  explicit HeapModel(Remainders remainders = Remainders::kMerge) : remainders_(remainders) {}

  // `touched`: bytes that are written; the rest of a fresh block takes no memory. `alignment` > 16: as posix_memalign.
  Block allocate(int64_t bytes, int64_t alignment = 16, int64_t touched = -1);
  void release(Block block);
  // Writes a part of the block, from its start; grows what is resident only where memory is fresh.
  void touch(Block block, int64_t from, int64_t to);

  int64_t resident_bytes() const { return resident_; }
  int64_t peak_bytes() const { return peak_; }
  int64_t live_bytes() const { return live_; }

 private:
  struct Chunk {
    int64_t begin = 0, end = 0;  // addresses; equal once released
    bool mapped = false;
  };
  int64_t take_aligned(int64_t size, int64_t wanted, int64_t alignment);
  int64_t take(int64_t size);             // begin of a heap chunk of exactly `size`
  void give(int64_t begin, int64_t end);  // a hole, merged with its neighbours and the top
  void write(int64_t begin, int64_t end);
  void forget(int64_t begin, int64_t end);  // back to the system
  void trim();                              // the top, back to the system
  void note_peak() { peak_ = resident_ > peak_ ? resident_ : peak_; }
  void add_hole(int64_t begin, int64_t end);
  void remove_hole(int64_t begin, int64_t end);

  Remainders remainders_;
  std::vector<Chunk> blocks_;
  std::map<int64_t, int64_t> holes_;                     // begin → end
  std::set<std::pair<int64_t, int64_t>> holes_by_size_;  // (size, begin)
  std::map<int64_t, int64_t> fresh_;                     // memory that was never written: begin → end
  int64_t top_ = 0;                                      // begin of the top chunk
  int64_t heap_end_ = 0;                                 // end of the top chunk
  int64_t next_mapping_ = int64_t{1} << 50;              // mappings lie behind every heap
  int64_t mmap_threshold_ = 128 * 1024;
  int64_t trim_threshold_ = 128 * 1024;
  int64_t resident_ = 0, peak_ = 0, live_ = 0;
};

}  // namespace ridge::predict
