#include "serve/reaper.h"

namespace ridge::serve {

Reaper::Reaper(std::function<void(const Servable&)> ended) : ended_(std::move(ended)), thread_([this] { run(); }) {}

Reaper::~Reaper() {
  {
    MutexLock lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
}

VersionPtr Reaper::keep(std::shared_ptr<Servable> version) {
  {
    MutexLock lock(mutex_);
    kept_.push_back(version);
  }
  Servable* const shared = version.get();
  return {shared, [this, version = std::move(version)](Servable*) mutable {
            MutexLock lock(mutex_);
            unshared_.push_back(std::move(version));
            changed_.notify_all();
          }};
}

void Reaper::abort() {
  std::vector<std::shared_ptr<Servable>> versions;
  {
    MutexLock lock(mutex_);
    for (const std::weak_ptr<Servable>& kept : kept_)
      if (std::shared_ptr<Servable> version = kept.lock()) versions.push_back(std::move(version));
  }
  for (const std::shared_ptr<Servable>& version : versions) version->abort();
}

void Reaper::wait() {
  MutexLock lock(mutex_);
  while (!kept_.empty()) changed_.wait(lock);
}

void Reaper::run() {
  MutexLock lock(mutex_);
  while (true) {
    std::erase_if(endings_,
                  [](const Ending& ending) { return ending.done; });  // joins threads that need the mutex no more
    if (!unshared_.empty()) {
      Ending& ending = endings_.emplace_back();
      ending.thread = std::jthread(
          [this, &ending, version = std::move(unshared_.front())]() mutable { end(std::move(version), ending); });
      unshared_.erase(unshared_.begin());
      continue;
    }
    if (stop_ && endings_.empty()) return;
    changed_.wait(lock);
  }
}

void Reaper::end(std::shared_ptr<Servable> version, Ending& ending) {
  version->close();
  version->join();
  ended_(*version);
  const std::weak_ptr<Servable> ended = version;
  version.reset();  // frees it, but where a run that was given up goes on
  MutexLock lock(mutex_);
  std::erase_if(kept_, [&](const std::weak_ptr<Servable>& kept) {
    return !kept.owner_before(ended) && !ended.owner_before(kept);
  });
  ending.done = true;
  changed_.notify_all();
}

}  // namespace ridge::serve
