// Reaper: lets retired versions finish their requests, then ends and frees them: off the request path, and each on a
// thread of its own, so that none waits for the streams of another.
//
// Thread-safe. A version is closed only after its last reference is released, so that a request that found it just
// before its replacement is still answered.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
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
  // These serve: they are retired once they do not any more.
  void serve(const std::vector<VersionPtr>& versions);
  // A version whose run does not end; it is not retired.
  void give_up(const Servable& version);
  // Models that served and have not ended, of one name or (empty name) of all, but `serving`.
  std::vector<std::shared_ptr<Servable>> retired(const std::string& model,
                                                 const std::vector<VersionPtr>& serving) const;
  // Waits until the model has one version at most, serving or not, or until `stop`; the requests of older ones are
  // refused after `grace`, unless it is 0, and their runs broken off.
  void await_retired(const std::string& model, const std::vector<VersionPtr>& serving, Clock& clock, Nanoseconds grace,
                     const std::stop_token& stop);
  // Aborts every version that has not ended, whoever holds it.
  void abort();
  // Waits until every version has ended. All who hold one let go of it soon.
  void wait();

 private:
  struct Kept {
    std::weak_ptr<Servable> version;
    bool served = false;
  };
  struct Ending {
    bool done = false;
    std::jthread thread;
  };

  void run();
  void end(std::shared_ptr<Servable> version, Ending& ending);

  std::function<void(const Servable&)> ended_;
  mutable Mutex mutex_;
  ConditionVariable changed_;
  std::vector<std::shared_ptr<Servable>> unshared_ RIDGE_GUARDED_BY(mutex_);  // to be ended
  std::vector<Kept> kept_ RIDGE_GUARDED_BY(mutex_);                           // not ended yet
  std::list<Ending> endings_ RIDGE_GUARDED_BY(mutex_);
  bool stop_ RIDGE_GUARDED_BY(mutex_) = false;
  std::jthread thread_;  // last: starts after all other members
};

}  // namespace ridge::serve
