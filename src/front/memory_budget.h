// MemoryBudget: how many bytes the requests of all protocols may take together. Thread-safe.
// MemoryHold: what one of them has of it, given back at its end. One thread at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/mutex.h"

namespace ridge::front {

class MemoryBudget {
 public:
  explicit MemoryBudget(uint64_t limit) : limit_(limit) {}
  bool take(uint64_t bytes);  // false: they do not fit
  // Called before anything is refused, on any thread: frees what was taken and is not used.
  void on_refusal(std::function<void()> free_unused);
  void give_back(uint64_t bytes) { taken_.fetch_sub(bytes, std::memory_order_relaxed); }

 private:
  const uint64_t limit_;
  std::atomic<uint64_t> taken_{0};
  Mutex mutex_;
  std::vector<std::function<void()>> free_unused_ RIDGE_GUARDED_BY(mutex_);
};

class MemoryHold {
 public:
  // Without a budget: any amount.
  explicit MemoryHold(std::shared_ptr<MemoryBudget> budget = nullptr) : budget_(std::move(budget)) {}
  MemoryHold(MemoryHold&& other) noexcept : budget_(std::move(other.budget_)), bytes_(std::exchange(other.bytes_, 0)) {}
  MemoryHold& operator=(MemoryHold&& other) noexcept {
    std::swap(budget_, other.budget_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~MemoryHold() { set(0); }
  // Changes the amount to `bytes`. False: they do not fit, and nothing has changed.
  bool set(uint64_t bytes);
  bool add(uint64_t bytes) { return set(bytes_ + bytes); }

 private:
  std::shared_ptr<MemoryBudget> budget_;
  uint64_t bytes_ = 0;
};

}  // namespace ridge::front
