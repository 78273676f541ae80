// Body: the bytes of one message, contiguous and aligned for tensors, growing as they arrive.
//
// Memory follows the received size, not the declared one: at most kAhead beyond it. Large bodies grow by remapping
// pages, not by copying. The start may be skewed so that a chosen byte (the first tensor's) lies on a cache line. Body:
// one thread at a time. BodyPool: thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "front/memory_budget.h"

namespace ridge::front {

class Body {
 public:
  static constexpr size_t kAlignment = 64;           // [bytes] of `align_at`'s address; base/tensor.h's Buffer
  static constexpr size_t kPadding = 64;             // [bytes] readable behind the end (simdjson reads over it)
  static constexpr size_t kAhead = size_t{4} << 20;  // [bytes] allocated beyond the received ones

  // Without a budget: only what the process can have.
  explicit Body(std::shared_ptr<MemoryBudget> budget = nullptr) : budget_(std::move(budget)) {}
  ~Body();
  Body(const Body&) = delete;
  Body& operator=(const Body&) = delete;

  // Forgets the content; the byte at offset `align_at` of the new content will be aligned. Before anything else.
  void start(size_t align_at);
  // Space for the next bytes, at most `wanted` and never empty unless wanted is 0. Throws std::bad_alloc only, also
  // when the budget is spent.
  std::span<std::byte> room(size_t wanted);
  // The first `count` bytes of that space now hold content.
  void commit(size_t count) { size_ += count; }
  void append(std::span<const std::byte> bytes);

  std::byte* data() { return memory_ + skew_; }
  const std::byte* data() const { return memory_ + skew_; }
  size_t size() const { return size_; }
  size_t capacity() const { return capacity_; }
  const std::shared_ptr<MemoryBudget>& budget() const { return budget_; }
  std::span<const std::byte> bytes() const { return {data(), size_}; }
  std::string_view text() const { return {reinterpret_cast<const char*>(data()), size_}; }

 private:
  void reserve(size_t capacity);
  void resize_memory(size_t capacity, bool map);
  void free_memory();
  void release();

  std::byte* memory_ = nullptr;
  size_t capacity_ = 0;  // [bytes] at memory_
  size_t skew_ = 0;      // content starts here
  size_t size_ = 0;
  bool mapped_ = false;  // by mmap, else by aligned_alloc
  std::shared_ptr<MemoryBudget> budget_;
};

// Bodies in reuse: a fresh large block costs a page fault per 4 KiB, a used one costs nothing.
class BodyPool {
 public:
  explicit BodyPool(std::shared_ptr<MemoryBudget> budget);
  // Given back to the pool when the last owner lets go, on whatever thread; the pool may be gone by then.
  std::shared_ptr<Body> take();
  // Frees what lies unused if no body was taken since the last call. The budget frees it before it refuses a request.
  void tidy();

 private:
  struct Shelf;
  std::shared_ptr<MemoryBudget> budget_;
  std::shared_ptr<Shelf> shelf_;
};

}  // namespace ridge::front
