// Reaper: one thread that lets versions which no longer serve finish their requests, then ends and frees them:
// off the request path.
//
// Thread-safe. A version is closed only when nothing else holds it any more, so that a request which found it just
// before it was replaced is still answered.
#pragma once

#include <functional>
#include <thread>

#include "base/mutex.h"
#include "serve/model_table.h"

namespace ridge::serve {

class Reaper {
 public:
  // `ended` is called on the reaper's thread for each version when all its requests are answered.
  explicit Reaper(std::function<void(const ServedVersion&)> ended);
  ~Reaper();  // after everything handed over has ended
  void take(Versions versions);
  // Waits until everything handed over so far has ended.
  void wait();

 private:
  void run();
  void end(const VersionPtr& version);

  std::function<void(const ServedVersion&)> ended_;
  Mutex mutex_;
  ConditionVariable changed_;
  Versions waiting_ RIDGE_GUARDED_BY(mutex_);
  bool busy_ RIDGE_GUARDED_BY(mutex_) = false;
  bool stop_ RIDGE_GUARDED_BY(mutex_) = false;
  std::jthread thread_;  // last: starts when the rest is there
};

}  // namespace ridge::serve
