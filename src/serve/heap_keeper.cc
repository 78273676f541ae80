#include "serve/heap_keeper.h"

#include <malloc.h>

#include <algorithm>
#include <utility>

namespace ridge::serve {
namespace {

constexpr std::chrono::seconds kSettle{2}, kBetween{10};

}  // namespace

void HeapKeeper::trim() { malloc_trim(0); }

HeapKeeper::HeapKeeper(Clock& clock, std::function<void()> give_back)
    : clock_(clock), give_back_(std::move(give_back)), earliest_(clock.now()), thread_([this] { run(); }) {}

HeapKeeper::~HeapKeeper() {
  {
    MutexLock lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
}

void HeapKeeper::note() {
  const TimePoint settled = clock_.now() + kSettle;
  {
    MutexLock lock(mutex_);
    if (due_ != TimePoint::max()) return;
    due_ = std::max(settled, earliest_);
  }
  changed_.notify_all();
}

void HeapKeeper::run() {
  MutexLock lock(mutex_);
  while (!stop_) {
    if (clock_.now() < due_) {
      clock_.wait_until(changed_, lock, due_);
      continue;
    }
    due_ = TimePoint::max();
    earliest_ = clock_.now() + kBetween;
    lock.unlock();
    give_back_();
    lock.lock();
  }
}

}  // namespace ridge::serve
