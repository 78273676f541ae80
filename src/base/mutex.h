// std's mutexes with the attributes of clang's ThreadSafetyAnalysis, so that clang checks their use
// (clang.llvm.org/docs/ThreadSafetyAnalysis.html). A member says which mutex guards it, a private function which one
// its caller holds; `./dev check` refuses an access without it. Other compilers see plain std types.
//
// The analysis does not look into lambdas, so a wait takes no predicate: it stands in a loop that tests the condition.
#pragma once

#include <cassert>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>
#include <stop_token>
#include <utility>

#if defined(__clang__)
#define RIDGE_THREAD_SAFETY(attribute) __attribute__((attribute))
#else
#define RIDGE_THREAD_SAFETY(attribute)
#endif

#define RIDGE_GUARDED_BY(mutex) RIDGE_THREAD_SAFETY(guarded_by(mutex))             // of a variable
#define RIDGE_REQUIRES(...) RIDGE_THREAD_SAFETY(requires_capability(__VA_ARGS__))  // of a function: its caller holds
#define RIDGE_ACQUIRE(...) RIDGE_THREAD_SAFETY(acquire_capability(__VA_ARGS__))    // it locks
#define RIDGE_ACQUIRE_SHARED(...) RIDGE_THREAD_SAFETY(acquire_shared_capability(__VA_ARGS__))
#define RIDGE_TRY_ACQUIRE(...) RIDGE_THREAD_SAFETY(try_acquire_capability(__VA_ARGS__))  // it locks if it returns so
#define RIDGE_RELEASE(...) RIDGE_THREAD_SAFETY(release_capability(__VA_ARGS__))          // it unlocks
#define RIDGE_RELEASE_GENERIC(...) RIDGE_THREAD_SAFETY(release_generic_capability(__VA_ARGS__))
#define RIDGE_CAPABILITY(name) RIDGE_THREAD_SAFETY(capability(name))  // of a class: it is a mutex
#define RIDGE_SCOPED_CAPABILITY RIDGE_THREAD_SAFETY(scoped_lockable)  // of a class: it holds one

namespace ridge {

class RIDGE_CAPABILITY("mutex") Mutex {
 public:
  constexpr Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;
  void lock() RIDGE_ACQUIRE() { native_.lock(); }
  bool try_lock() RIDGE_TRY_ACQUIRE(true) { return native_.try_lock(); }
  void unlock() RIDGE_RELEASE() { native_.unlock(); }

 private:
  friend class MutexLock;
  std::mutex native_;
};

// Holds a mutex to the end of its scope, except while it is explicitly unlocked.
class RIDGE_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) RIDGE_ACQUIRE(mutex) : native_(mutex.native_) {}
  // Takes over a mutex that this thread holds.
  MutexLock(Mutex& mutex, std::adopt_lock_t adopt) RIDGE_REQUIRES(mutex) : native_(mutex.native_, adopt) {}
  ~MutexLock() RIDGE_RELEASE() = default;
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;
  void lock() RIDGE_ACQUIRE() { native_.lock(); }
  void unlock() RIDGE_RELEASE() { native_.unlock(); }

 private:
  friend class ConditionVariable;
  friend class StoppableConditionVariable;
  friend class FakeClock;
  std::unique_lock<std::mutex> native_;
};

// One writer or many readers.
class RIDGE_CAPABILITY("shared mutex") SharedMutex {
 public:
  void lock() RIDGE_ACQUIRE() { native_.lock(); }
  void unlock() RIDGE_RELEASE() { native_.unlock(); }
  void lock_shared() RIDGE_ACQUIRE_SHARED() { native_.lock_shared(); }
  void unlock_shared() RIDGE_RELEASE_GENERIC() { native_.unlock_shared(); }

 private:
  std::shared_mutex native_;
};

class RIDGE_SCOPED_CAPABILITY WriterLock {
 public:
  explicit WriterLock(SharedMutex& mutex) RIDGE_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~WriterLock() RIDGE_RELEASE() { mutex_.unlock(); }
  WriterLock(const WriterLock&) = delete;
  WriterLock& operator=(const WriterLock&) = delete;

 private:
  SharedMutex& mutex_;
};

class RIDGE_SCOPED_CAPABILITY ReaderLock {
 public:
  explicit ReaderLock(SharedMutex& mutex) RIDGE_ACQUIRE_SHARED(mutex) : mutex_(mutex) { mutex_.lock_shared(); }
  ~ReaderLock() RIDGE_RELEASE_GENERIC() { mutex_.unlock_shared(); }
  ReaderLock(const ReaderLock&) = delete;
  ReaderLock& operator=(const ReaderLock&) = delete;

 private:
  SharedMutex& mutex_;
};

// Waits end when notified, and sometimes spuriously.
class ConditionVariable {
 public:
  void wait(MutexLock& held) { native_.wait(held.native_); }
  void wait_until(MutexLock& held, std::chrono::steady_clock::time_point due) { native_.wait_until(held.native_, due); }
  void notify_one() noexcept { native_.notify_one(); }
  void notify_all() noexcept { native_.notify_all(); }

 private:
  std::condition_variable native_;
};

// Its waits end also when a stop is requested, at once if it was; somewhat slower.
class StoppableConditionVariable {
 public:
  void wait(MutexLock& held, const std::stop_token& stop) { native_.wait(held.native_, stop, Second()); }
  void wait(MutexLock& held) { native_.wait(held.native_); }
  void notify_one() noexcept { native_.notify_one(); }
  void notify_all() noexcept { native_.notify_all(); }

 private:
  // std's waits with a stop token require a predicate; this one holds when it is called again.
  struct Second {
    bool operator()() { return std::exchange(asked, true); }
    bool asked = false;
  };
  std::condition_variable_any native_;
};

}  // namespace ridge
