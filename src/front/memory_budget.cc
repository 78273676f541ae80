#include "front/memory_budget.h"

#include <utility>

namespace ridge::front {

bool MemoryBudget::take(uint64_t bytes) {
  auto fits = [&] {
    if (taken_.fetch_add(bytes, std::memory_order_relaxed) + bytes <= limit_) return true;
    give_back(bytes);
    return false;
  };
  if (fits()) return true;
  if (bytes > limit_) return false;
  std::vector<std::function<void()>> all;
  {
    MutexLock lock(mutex_);
    all = free_unused_;
  }
  for (const std::function<void()>& free_unused : all) free_unused();
  return fits();
}

void MemoryBudget::on_refusal(std::function<void()> free_unused) {
  MutexLock lock(mutex_);
  free_unused_.push_back(std::move(free_unused));
}

bool MemoryHold::set(uint64_t bytes) {
  if (!budget_) return true;
  if (bytes > bytes_ && !budget_->take(bytes - bytes_)) return false;
  if (bytes < bytes_) budget_->give_back(bytes_ - bytes);
  bytes_ = bytes;
  return true;
}

}  // namespace ridge::front
