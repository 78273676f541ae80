#include "base/mutex.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

namespace ridge {
namespace {

TEST(MutexLock, LetsGoOfItsMutexForAWhileAndTakesOverOneThatIsHeld) {
  Mutex mutex;
  const auto is_free = [&] {
    return std::async(std::launch::async,
                      [&] {
                        if (!mutex.try_lock()) return false;
                        mutex.unlock();
                        return true;
                      })
        .get();
  };
  {
    MutexLock lock(mutex);
    EXPECT_FALSE(is_free());
    lock.unlock();
    EXPECT_TRUE(is_free());
    lock.lock();
    EXPECT_FALSE(is_free());
  }
  EXPECT_TRUE(is_free());
  ASSERT_TRUE(mutex.try_lock());
  {
    MutexLock lock(mutex, std::adopt_lock);
    EXPECT_FALSE(is_free());
  }
  EXPECT_TRUE(is_free());
}

TEST(SharedMutex, HasManyReadersOrOneWriter) {
  SharedMutex mutex;
  std::promise<void> second_reads;
  std::atomic<bool> written = false;
  std::jthread writer;
  {
    ReaderLock first(mutex);
    std::jthread([&] {
      ReaderLock second(mutex);
      second_reads.set_value();
    }).join();
    second_reads.get_future().wait();
    writer = std::jthread([&] {
      WriterLock alone(mutex);
      written = true;
    });
    EXPECT_FALSE(written);
  }
  writer.join();
  EXPECT_TRUE(written);
}

TEST(StoppableConditionVariable, WaitsEndByANotificationAndByAStop) {
  Mutex mutex;
  StoppableConditionVariable changed;
  bool ready = false;
  std::jthread other([&] {
    MutexLock lock(mutex);
    ready = true;
    changed.notify_all();
  });
  std::stop_source stop;
  MutexLock lock(mutex);
  while (!ready) changed.wait(lock, stop.get_token());
  std::jthread stopper([&] { stop.request_stop(); });
  while (!stop.stop_requested()) changed.wait(lock, stop.get_token());
  changed.wait(lock, stop.get_token());  // at once
}

}  // namespace
}  // namespace ridge
