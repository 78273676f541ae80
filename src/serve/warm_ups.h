// WarmUps: which models are being warmed up, and since when. Thread-safe.
#pragma once

#include <list>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"

namespace ridge::serve {

class WarmUps {
  using Running = std::list<std::pair<std::string, TimePoint>>;  // model and begin

 public:
  // `clock` outlives it.
  explicit WarmUps(const Clock& clock) : clock_(clock) {}

  // One warm-up, until it is destroyed.
  class Scope {
   public:
    Scope(WarmUps& all, std::string model) : all_(all), place_(all.add(std::move(model))) {}
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope() { all_.remove(place_); }

   private:
    WarmUps& all_;
    Running::iterator place_;
  };

  // The models, in the order in which they began.
  std::vector<std::string> longer_than(Nanoseconds time) const {
    const TimePoint now = clock_.now();
    std::vector<std::string> models;
    MutexLock lock(mutex_);
    for (const auto& [model, begin] : running_)
      if (now - begin > time) models.push_back(model);
    return models;
  }

 private:
  Running::iterator add(std::string model) {
    const TimePoint now = clock_.now();
    MutexLock lock(mutex_);
    return running_.insert(running_.end(), {std::move(model), now});
  }
  void remove(Running::iterator place) {
    MutexLock lock(mutex_);
    running_.erase(place);
  }

  const Clock& clock_;
  mutable Mutex mutex_;
  Running running_ RIDGE_GUARDED_BY(mutex_);
};

}  // namespace ridge::serve
