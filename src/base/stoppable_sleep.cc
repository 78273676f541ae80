#include "base/stoppable_sleep.h"

#include "base/mutex.h"

namespace ridge {

bool sleep_until(TimePoint due, const std::stop_token& stop) {
  Mutex mutex;
  StoppableConditionVariable never;
  MutexLock lock(mutex);
  while (!stop.stop_requested() && SteadyClock::now() < due) never.wait_until(lock, stop, due);
  return !stop.stop_requested();
}

}  // namespace ridge
