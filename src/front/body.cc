#include "front/body.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/rounding.h"

namespace ridge::front {
namespace {

constexpr size_t kSmallest = 4096;            // [bytes]
constexpr size_t kMapFrom = size_t{1} << 20;  // [bytes] larger blocks grow by remapping
constexpr size_t kPage = 4096;                // [bytes] granularity of mremap
constexpr size_t kShelfBodies = 64;
constexpr size_t kShelfBytes = size_t{64} << 20;

std::byte* map_fresh(size_t capacity) {
  void* memory = mmap(nullptr, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  return static_cast<std::byte*>(memory);
}

std::byte* allocate_fresh(size_t capacity) {
  void* memory = std::aligned_alloc(Body::kAlignment, capacity);
  if (memory == nullptr) throw std::bad_alloc();
  return static_cast<std::byte*>(memory);
}

}  // namespace

Body::~Body() { release(); }

void Body::free_memory() {
  if (mapped_)
    munmap(memory_, capacity_);
  else
    std::free(memory_);
}

void Body::release() {
  free_memory();
  if (budget_) budget_->give_back(capacity_);
  memory_ = nullptr;
  capacity_ = 0;
}

void Body::start(size_t align_at) {
  size_ = 0;
  skew_ = (kAlignment - align_at % kAlignment) % kAlignment;
  reserve(kAlignment + kPadding);  // an empty body may also be read beyond its end
}

void Body::reserve(size_t capacity) {
  if (capacity <= capacity_) return;
  bool map = capacity >= kMapFrom;
  capacity = map ? round_up(capacity, kPage) : round_up(std::max(capacity, kSmallest), kAlignment);
  if (budget_ && !budget_->take(capacity - capacity_)) throw std::bad_alloc();
  try {
    resize_memory(capacity, map);
  } catch (const std::bad_alloc&) {
    if (budget_) budget_->give_back(capacity - capacity_);
    throw;
  }
  capacity_ = capacity;
}

void Body::resize_memory(size_t capacity, bool map) {
  if (mapped_) {
    void* moved = mremap(memory_, capacity_, capacity, MREMAP_MAYMOVE);
    if (moved == MAP_FAILED) throw std::bad_alloc();
    memory_ = static_cast<std::byte*>(moved);
  } else {
    std::byte* fresh = map ? map_fresh(capacity) : allocate_fresh(capacity);
    if (size_ > 0) std::memcpy(fresh + skew_, data(), size_);
    free_memory();
    memory_ = fresh;
    mapped_ = map;
  }
}

std::span<std::byte> Body::room(size_t wanted) {
  size_t ahead = std::min(wanted, kAhead);
  size_t needed = skew_ + size_ + ahead + kPadding;
  if (needed > capacity_) reserve(std::max(needed, std::min(2 * capacity_, needed + kAhead)));
  return {data() + size_, std::min(wanted, capacity_ - skew_ - size_ - kPadding)};
}

void Body::append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    std::span<std::byte> free = room(bytes.size());
    std::memcpy(free.data(), bytes.data(), free.size());
    commit(free.size());
    bytes = bytes.subspan(free.size());
  }
}

struct BodyPool::Shelf {
  Mutex mutex;
  std::vector<std::unique_ptr<Body>> bodies RIDGE_GUARDED_BY(mutex);
  size_t bytes RIDGE_GUARDED_BY(mutex) = 0;
  bool used RIDGE_GUARDED_BY(mutex) = false;  // since tidy()

  void tidy() {
    {
      MutexLock lock(mutex);
      if (std::exchange(used, false)) return;
    }
    drop();
  }

  void drop() {
    std::vector<std::unique_ptr<Body>> unused;  // freed after the lock
    MutexLock lock(mutex);
    unused.swap(bodies);
    bytes = 0;
  }

  std::unique_ptr<Body> take() {
    MutexLock lock(mutex);
    used = true;
    if (bodies.empty()) return nullptr;
    std::unique_ptr<Body> body = std::move(bodies.back());
    bodies.pop_back();
    bytes -= body->capacity();
    return body;
  }

  void put(std::unique_ptr<Body> body) {
    // Unneeded data is freed with the caller's argument, after the lock: unmapping a large block takes a while.
    MutexLock lock(mutex);
    if (bodies.size() == kShelfBodies || bytes + body->capacity() > kShelfBytes) return;
    bytes += body->capacity();
    bodies.push_back(std::move(body));
  }
};

BodyPool::BodyPool(std::shared_ptr<MemoryBudget> budget)
    : budget_(std::move(budget)), shelf_(std::make_shared<Shelf>()) {
  if (budget_)
    budget_->on_refusal([shelf = std::weak_ptr(shelf_)] {
      if (const std::shared_ptr<Shelf> own = shelf.lock()) own->drop();
    });
}

void BodyPool::tidy() { shelf_->tidy(); }

std::shared_ptr<Body> BodyPool::take() {
  std::unique_ptr<Body> body = shelf_->take();
  if (!body) body = std::make_unique<Body>(budget_);
  auto give_back = [shelf = shelf_](Body* used) { shelf->put(std::unique_ptr<Body>(used)); };
  return {body.release(), std::move(give_back)};
}

}  // namespace ridge::front
