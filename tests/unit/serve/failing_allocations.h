// Allocations that fail when a test says so: operator new asks its fails_now. Included by one source of a program.
#pragma once

#include <atomic>
#include <cstdlib>
#include <new>

namespace ridge::serve {

// True if this allocation, on this thread, is to fail; null: it is not.
inline std::atomic<bool (*)()> fails_now = nullptr;
inline std::atomic<int> failures = 0;

inline void* allocate_or_fail(std::size_t size, std::size_t alignment) {
  if (const auto fails = fails_now.load(); fails != nullptr && fails()) {
    ++failures;
    throw std::bad_alloc();
  }
  const std::size_t least = size == 0 ? 1 : size;
  void* memory = alignment == 0 ? std::malloc(least)
                                : std::aligned_alloc(alignment, (least + alignment - 1) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace ridge::serve

void* operator new(std::size_t size) { return ridge::serve::allocate_or_fail(size, 0); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return ridge::serve::allocate_or_fail(size, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept try {
  return ridge::serve::allocate_or_fail(size, 0);
} catch (const std::bad_alloc&) {
  return nullptr;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
