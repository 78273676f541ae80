// Reaper: lets retired versions finish their requests, then ends and frees them: off the request path, and each on a thread of its own, so that none
// waits for the streams of another.
//
// Thread-safe. A version is closed only after its last reference is released, so that a request that found it just before its
// replacement is still answered.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "serve/model_table.h"

namespace ridge::serve {

class Reaper {
 public:
  // `ended` is called on the version's thread when all its requests are answered.
  explicit Reaper(std::function<void(const Servable&)> ended);
  ~Reaper();  // after every version has ended
  // Owns the version; the result is shared, and ends the version when the last copy is gone.
  VersionPtr keep(std::shared_ptr<Servable> version);
  // Of every version that has not ended, whoever holds it.
  void abort();
  // Waits until every version has ended. All who hold one let go of it soon.
  void wait();

 private:
  struct Ending {
    bool done = false;
    std::jthread thread;
  };

  void run();
  void end(std::shared_ptr<Servable> version, Ending& ending);

  std::function<void(const Servable&)> ended_;
  Mutex mutex_;
  ConditionVariable changed_;
  std::vector<std::shared_ptr<Servable>> unshared_ RIDGE_GUARDED_BY(mutex_);  // to be ended
  std::vector<std::weak_ptr<Servable>> kept_ RIDGE_GUARDED_BY(mutex_);        // not ended yet
  std::list<Ending> endings_ RIDGE_GUARDED_BY(mutex_);
  bool stop_ RIDGE_GUARDED_BY(mutex_) = false;
  std::jthread thread_;  // last: starts after all other members
};

}  // namespace ridge::serve
