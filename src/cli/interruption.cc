#include "cli/interruption.h"

#include <signal.h>
#include <time.h>

#include <atomic>
#include <cstdint>

namespace ridge::cli {
namespace {

constexpr int64_t kSameSignalMs = 300;

// When the first signal came [ms of the monotonic clock]; 0 = none yet. A handler may only touch lock-free atomics.
std::atomic<int64_t> first_signal_ms = 0;
static_assert(std::atomic<int64_t>::is_always_lock_free);

void on_signal(int number) {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  int64_t now_ms = int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000 + 1;
  int64_t first = 0;
  if (first_signal_ms.compare_exchange_strong(first, now_ms) || now_ms - first < kSameSignalMs) return;
  signal(number, SIG_DFL);
  raise(number);  // delivered when this handler returns
}

}  // namespace

void listen_for_interruption() {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

bool interrupted() { return first_signal_ms != 0; }

}  // namespace ridge::cli
