// ResponseCache: answers of models whose configuration has `response_cache { enable: true }`, by what was asked, in a
// bounded number of bytes; what was used least lately goes first.
//
// A key is the whole content of a request: the version that answers, the inputs' types, shapes and values, and the
// wanted outputs. It is compared byte by byte, so no client can have another's answer by a hash that is equal; a
// request whose hash is equal to another's replaces it. Inputs count among the bytes, and an estimate for containers.
//
// Thread-safe; its lock is held for no comparison and no copy of tensors.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "base/tensor.h"
#include "serve/service.h"

namespace ridge::serve {

struct Job;

struct CacheKey {
  uint64_t owner = 0;                              // ResponseCache::new_owner() of the version
  std::string head;                                // everything but the inputs' values
  std::vector<std::span<const std::byte>> inputs;  // valid while the request is
  uint64_t hash = 0;
};
CacheKey cache_key_of(const Job& job, uint64_t owner);
// True if its tensors are all its own: regions of shared memory may change, and outputs are written there.
bool is_cacheable(const Job& job);

class ResponseCache {
 public:
  explicit ResponseCache(uint64_t limit_bytes) : limit_bytes_(limit_bytes) {}

  // A number for a version: keys of others are never equal.
  uint64_t new_owner();
  // The outputs of an equal request; their memory is the cache's, and lives as long as they do.
  std::optional<std::vector<ResponseOutput>> find(const CacheKey& key);
  // Copies both. Without effect where they are too large, or where memory is short.
  void insert(const CacheKey& key, std::span<const ResponseOutput> outputs);
  // All of that version.
  void drop(uint64_t owner);
  uint64_t bytes() const;  // in use

 private:
  struct Answer {
    uint64_t owner = 0, hash = 0;
    std::string key;
    Buffer memory;
    std::vector<ResponseOutput> outputs;  // without owners
    uint64_t bytes = 0;                   // of all of it
  };
  using AnswerPtr = std::shared_ptr<const Answer>;
  using Order = std::list<AnswerPtr>;
  static AnswerPtr copy_of(const CacheKey& key, std::span<const ResponseOutput> outputs, uint64_t bytes);
  AnswerPtr take_out(Order::iterator answer) RIDGE_REQUIRES(mutex_);

  const uint64_t limit_bytes_;
  mutable Mutex mutex_;
  Order by_use_ RIDGE_GUARDED_BY(mutex_);  // the latest first
  std::unordered_map<uint64_t, Order::iterator> by_hash_ RIDGE_GUARDED_BY(mutex_);
  uint64_t bytes_ RIDGE_GUARDED_BY(mutex_) = 0;
  uint64_t last_owner_ RIDGE_GUARDED_BY(mutex_) = 0;
};

}  // namespace ridge::serve
