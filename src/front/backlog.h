// Backlog<T>: values on their way from request threads to a thread that writes or sends them. Bounded: one that does
// not fit is dropped and counted, and no caller waits. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/mutex.h"

namespace ridge::front {

template <typename T>
class Backlog {
 public:
  explicit Backlog(size_t most_bytes) : most_bytes_(most_bytes) {}

  // `size`: of the value [bytes].
  void put(T value, size_t size) {
    MutexLock lock(mutex_);
    if (bytes_ + size > most_bytes_) return void(++dropped_);
    bytes_ += size;
    values_.push_back(std::move(value));
  }

  struct Taken {
    std::vector<T> values;
    uint64_t dropped = 0;  // since the last time
  };
  Taken take() {
    MutexLock lock(mutex_);
    bytes_ = 0;
    return {std::exchange(values_, {}), std::exchange(dropped_, 0)};
  }

 private:
  const size_t most_bytes_;
  Mutex mutex_;
  std::vector<T> values_ RIDGE_GUARDED_BY(mutex_);
  size_t bytes_ RIDGE_GUARDED_BY(mutex_) = 0;
  uint64_t dropped_ RIDGE_GUARDED_BY(mutex_) = 0;
};

}  // namespace ridge::front
