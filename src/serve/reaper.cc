#include "serve/reaper.h"

#include <chrono>

namespace ridge::serve {

Reaper::Reaper(std::function<void(const ServedVersion&)> ended)
    : ended_(std::move(ended)), thread_([this] { run(); }) {}

Reaper::~Reaper() {
  {
    MutexLock lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
}

void Reaper::take(Versions versions) {
  if (versions.empty()) return;
  {
    MutexLock lock(mutex_);
    for (VersionPtr& version : versions) waiting_.push_back(std::move(version));
  }
  changed_.notify_all();
}

void Reaper::wait() {
  MutexLock lock(mutex_);
  while (busy_ || !waiting_.empty()) changed_.wait(lock);
}

void Reaper::end(const VersionPtr& version) {
  // Who found it in the table holds it for the moment of one submit() or one look; no new holder can appear.
  while (version.use_count() > 1) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  version->close();
  version->join();
  ended_(*version);
}

void Reaper::run() {
  MutexLock lock(mutex_);
  while (true) {
    while (!stop_ && waiting_.empty()) changed_.wait(lock);
    if (waiting_.empty()) return;
    VersionPtr version = std::move(waiting_.front());
    waiting_.erase(waiting_.begin());
    busy_ = true;
    lock.unlock();
    end(version);
    version.reset();  // frees it
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }
}

}  // namespace ridge::serve
