#include "front/memory_budget.h"

namespace ridge::front {

bool MemoryBudget::take(uint64_t bytes) {
  if (taken_.fetch_add(bytes, std::memory_order_relaxed) + bytes <= limit_) return true;
  give_back(bytes);
  return false;
}

}  // namespace ridge::front
