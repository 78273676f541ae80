#include "generate/block_pool.h"

#include <algorithm>
#include <cassert>

#include "base/random.h"

namespace ridge::generate {
namespace {

uint64_t hash_of(uint64_t parent, std::span<const int32_t> tokens) {
  uint64_t hash = split_mix(parent + kGoldenGamma);
  for (const int32_t token : tokens) hash = split_mix((hash ^ static_cast<uint32_t>(token)) + kGoldenGamma);
  return hash;
}

}  // namespace

BlockPool::BlockPool(int64_t blocks, int64_t block_tokens)
    : block_tokens_(block_tokens), free_(blocks), blocks_(blocks), links_(blocks + 1), tokens_(blocks * block_tokens) {
  const auto count = static_cast<int32_t>(blocks);
  for (int32_t i = 0; i <= count; ++i) links_[i] = {i == 0 ? count : i - 1, i == count ? 0 : i + 1};
}

void BlockPool::unlink(int32_t block) {
  const Link link = links_[block];
  links_[link.before].after = link.after;
  links_[link.after].before = link.before;
}

void BlockPool::link_before(int32_t block, int32_t next) {
  const int32_t before = links_[next].before;
  links_[block] = {before, next};
  links_[before].after = block;
  links_[next].before = block;
}

std::optional<int32_t> BlockPool::take() {
  if (free_ == 0) return {};
  const int32_t index = links_.back().after;
  Block& block = blocks_[index];
  if (block.content != 0) {
    const auto found = by_hash_.find(block.hash);
    if (found != by_hash_.end() && found->second == index) by_hash_.erase(found);
    block = {};
  }
  hold(index);
  return index;
}

void BlockPool::hold(int32_t block) {
  if (blocks_[block].references++ > 0) return;
  unlink(block);
  --free_;
}

void BlockPool::release(int32_t block) {
  assert(blocks_[block].references > 0);
  if (--blocks_[block].references > 0) return;
  const auto end = static_cast<int32_t>(blocks_.size());
  link_before(block, blocks_[block].content == 0 ? links_[end].after : end);
  ++free_;
}

bool BlockPool::has(int32_t block, uint64_t parent, std::span<const int32_t> tokens) const {
  return blocks_[block].parent == parent && std::equal(tokens.begin(), tokens.end(), &tokens_[block * block_tokens_]);
}

std::optional<int32_t> BlockPool::find(uint64_t parent, std::span<const int32_t> tokens) const {
  const auto found = by_hash_.find(hash_of(parent, tokens));
  if (found == by_hash_.end() || !has(found->second, parent, tokens)) return {};
  return found->second;
}

int32_t BlockPool::fill(int32_t block, uint64_t parent, std::span<const int32_t> tokens) {
  assert(blocks_[block].references > 0 && static_cast<int64_t>(tokens.size()) == block_tokens_);
  const uint64_t hash = hash_of(parent, tokens);
  int32_t& listed = by_hash_.try_emplace(hash, block).first->second;
  if (listed != block && has(listed, parent, tokens)) {
    hold(listed);
    release(block);
    return listed;
  }
  listed = block;  // of two contents with one hash, the later is found
  blocks_[block].content = ++last_content_;
  blocks_[block].parent = parent;
  blocks_[block].hash = hash;
  std::ranges::copy(tokens, &tokens_[block * block_tokens_]);
  return block;
}

}  // namespace ridge::generate
