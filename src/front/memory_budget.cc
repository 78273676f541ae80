#include "front/memory_budget.h"

namespace ridge::front {

bool MemoryBudget::take(uint64_t bytes) {
  if (taken_.fetch_add(bytes, std::memory_order_relaxed) + bytes <= limit_) return true;
  give_back(bytes);
  return false;
}

bool MemoryHold::set(uint64_t bytes) {
  if (!budget_) return true;
  if (bytes > bytes_ && !budget_->take(bytes - bytes_)) return false;
  if (bytes < bytes_) budget_->give_back(bytes_ - bytes);
  bytes_ = bytes;
  return true;
}

}  // namespace ridge::front
