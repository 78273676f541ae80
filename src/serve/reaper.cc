#include "serve/reaper.h"

#include <algorithm>
#include <exception>

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
    kept_.push_back({version});
    unshared_.reserve(kept_.capacity());  // its end asks for no memory
  }
  Servable* const shared = version.get();
  return {shared, [this, version = std::move(version)](Servable*) mutable {
            MutexLock lock(mutex_);
            unshared_.push_back(std::move(version));
            changed_.notify_all();
          }};
}

void Reaper::serve(const std::vector<VersionPtr>& versions) {
  MutexLock lock(mutex_);
  for (Kept& kept : kept_)
    for (const VersionPtr& version : versions) kept.served |= kept.version.lock().get() == version.get();
}

void Reaper::give_up(const Servable& version) {
  MutexLock lock(mutex_);
  for (Kept& kept : kept_) kept.served = kept.served && kept.version.lock().get() != &version;
}

std::vector<std::shared_ptr<Servable>> Reaper::retired(const std::string& model,
                                                       const std::vector<VersionPtr>& serving) const {
  std::vector<std::shared_ptr<Servable>> versions;
  MutexLock lock(mutex_);
  for (const Kept& kept : kept_) {
    std::shared_ptr<Servable> version = kept.served ? kept.version.lock() : nullptr;
    const auto serves = [&](const VersionPtr& each) { return each.get() == version.get(); };
    if (version && (model.empty() || version->settings().name == model) && std::ranges::none_of(serving, serves))
      versions.push_back(std::move(version));
  }
  return versions;
}

void Reaper::await_retired(const std::string& model, const std::vector<VersionPtr>& serving, Clock& clock,
                           Nanoseconds grace, const std::stop_token& stop) {
  constexpr std::chrono::milliseconds kLook{50};
  const TimePoint due = clock.now() + grace;
  while (!stop.stop_requested()) {
    const std::vector<std::shared_ptr<Servable>> left = retired(model, serving);
    const size_t most = serving.empty() ? 1 : 0;
    if (left.size() <= most) return;
    if (grace.count() > 0 && clock.now() >= due)
      for (size_t i = 0; i + most < left.size(); ++i) left[i]->abort();
    MutexLock lock(mutex_);
    clock.wait_until(changed_, lock, clock.now() + kLook);
  }
}

void Reaper::abort() {
  std::vector<std::shared_ptr<Servable>> versions;
  {
    MutexLock lock(mutex_);
    for (const Kept& kept : kept_)
      if (std::shared_ptr<Servable> version = kept.version.lock()) versions.push_back(std::move(version));
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
      try {
        Ending& ending = endings_.emplace_back();
        ending.thread =
            std::jthread([this, &ending, version = unshared_.front()]() mutable { end(std::move(version), ending); });
      } catch (const std::exception&) {  // no memory for it, or no thread: this one waits for its requests
        if (!endings_.empty() && !endings_.back().thread.joinable()) endings_.pop_back();
        Ending here;
        std::shared_ptr<Servable> version = std::move(unshared_.front());
        unshared_.erase(unshared_.begin());
        lock.unlock();
        end(std::move(version), here);
        lock.lock();
        continue;
      }
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
  std::erase_if(
      kept_, [&](const Kept& kept) { return !kept.version.owner_before(ended) && !ended.owner_before(kept.version); });
  ending.done = true;
  changed_.notify_all();
}

}  // namespace ridge::serve
