#include "cli/interruption.h"

#include <signal.h>

#include <atomic>

namespace ridge::cli {
namespace {

constexpr std::chrono::milliseconds kSameSignal(300);

// A handler may only touch lock-free atomics.
std::atomic<const Clock*> clock_of_signals = nullptr;
std::atomic<TimePoint> first_signal = TimePoint();  // TimePoint(): none yet
static_assert(std::atomic<const Clock*>::is_always_lock_free && std::atomic<TimePoint>::is_always_lock_free);

void on_signal(int number) {
  const TimePoint now = clock_of_signals.load()->now();
  TimePoint first;
  if (first_signal.compare_exchange_strong(first, now) || now - first < kSameSignal) return;
  signal(number, SIG_DFL);
  raise(number);  // delivered when this handler returns
}

}  // namespace

void listen_for_interruption(const Clock& clock) {
  clock_of_signals = &clock;
  struct sigaction action = {};
  action.sa_handler = on_signal;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool interrupted() { return first_signal.load() != TimePoint(); }

}  // namespace ridge::cli
