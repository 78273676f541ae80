// MemoryBudget: how many bytes the requests of all protocols may take together. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>

namespace ridge::front {

class MemoryBudget {
 public:
  explicit MemoryBudget(uint64_t limit) : limit_(limit) {}
  bool take(uint64_t bytes);  // false: they do not fit
  void give_back(uint64_t bytes) { taken_.fetch_sub(bytes, std::memory_order_relaxed); }

 private:
  const uint64_t limit_;
  std::atomic<uint64_t> taken_{0};
};

}  // namespace ridge::front
