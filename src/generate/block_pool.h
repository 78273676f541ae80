// The blocks of a decoder's cache: their holders, and free ones whose content a new sequence can use. One thread.
//
// A full block's content has a number. It stands for the block's tokens and, through its parent's number, for all
// tokens before them: a block is found by exactly that, the hash only leads there. A number is never used twice. Free
// blocks keep their content until they are taken, the least recently released first.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace ridge::generate {

class BlockPool {
 public:
  BlockPool(int64_t blocks, int64_t block_tokens);

  int64_t total() const { return static_cast<int64_t>(blocks_.size()); }
  int64_t free() const { return free_; }
  int references(int32_t block) const { return blocks_[block].references; }

  // A free block, held once; its content is gone. Nothing: all are held.
  std::optional<int32_t> take();
  void hold(int32_t block);
  void release(int32_t block);

  // The number of a block's content, below 2^63; 0: none. The parent of a sequence's first block is its prefix group.
  uint64_t content(int32_t block) const { return blocks_[block].content; }
  // The block with these tokens after the content `parent`.
  std::optional<int32_t> find(uint64_t parent, std::span<const int32_t> tokens) const;
  // The held block is full of these tokens. Where another block has the same content already, that one is held instead
  // and `block` released: the answer is the block to use from now on.
  int32_t fill(int32_t block, uint64_t parent, std::span<const int32_t> tokens);

 private:
  struct Block {
    int references = 0;
    uint64_t content = 0, parent = 0, hash = 0;
  };
  struct Link {
    int32_t before = 0, after = 0;
  };
  void unlink(int32_t block);
  void link_before(int32_t block, int32_t next);
  bool has(int32_t block, uint64_t parent, std::span<const int32_t> tokens) const;

  int64_t block_tokens_;
  int64_t free_;
  uint64_t last_content_ = 0;
  std::vector<Block> blocks_;
  std::vector<Link> links_;      // ring of free blocks, in the order in which they are taken; its end is links_.back()
  std::vector<int32_t> tokens_;  // [block, token] of full ones
  std::unordered_map<uint64_t, int32_t> by_hash_;
};

}  // namespace ridge::generate
