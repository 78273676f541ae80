#include "engine/run_limit.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <utility>

#include "base/log.h"

namespace ridge::engine {
namespace {

constexpr Nanoseconds kGrace = std::chrono::seconds(10), kToEnd = std::chrono::seconds(10);
constexpr Nanoseconds kLongestLook = std::chrono::milliseconds(200);

// Thread-safe, like the session that it owns. Its thread reads two counters, all that a run pays for.
class LimitedSession final : public Session {
 public:
  LimitedSession(std::unique_ptr<Session> session, Nanoseconds limit, std::function<void(const std::string&)> stuck)
      : session_(std::move(session)),
        limit_(limit),
        stuck_(std::move(stuck)),
        watch_([this](const std::stop_token& stop) { watch(stop); }) {}

  const Signature& signature() const override { return session_->signature(); }
  const Info& info() const override { return session_->info(); }
  Result<std::vector<NodeTime>> take_profile(int skip_runs) override { return session_->take_profile(skip_runs); }
  void terminate() override { session_->terminate(); }
  void resume() override { session_->resume(); }

  Status run(std::span<const TensorView> inputs, std::span<const int> wanted, std::span<Output> outputs,
             RunTimes* times) override {
    begun_.fetch_add(1, std::memory_order_relaxed);
    Status ran = session_->run(inputs, wanted, outputs, times);
    ended_.fetch_add(1, std::memory_order_relaxed);
    if (!ran && over_) return Error{Code::kTimeout, over_limit() + ": it was broken off"};
    return ran;
  }

 private:
  std::string over_limit() const {
    return fmt::format("a run of the model did not end within {:.3g} s; give more --seconds if it takes that long",
                       to_seconds(limit_));
  }

  void watch(const std::stop_token& stop) {
    uint64_t ended_before = 0;
    TimePoint since = SteadyClock::now();
    while (system_clock().sleep_until(SteadyClock::now() + std::min(limit_, kLongestLook), stop)) {
      const uint64_t ended = ended_, begun = begun_;
      const TimePoint now = SteadyClock::now();
      if (begun == ended || ended != std::exchange(ended_before, ended)) since = now;
      if (!over_ && now - since > limit_) {
        over_ = true;
        session_->terminate();
      }
      if (over_ && now - since > limit_ + kToEnd)
        return stuck_(over_limit() + ", and its engine cannot be interrupted");
    }
  }

  const std::unique_ptr<Session> session_;
  const Nanoseconds limit_;
  const std::function<void(const std::string&)> stuck_;
  std::atomic<uint64_t> begun_ = 0, ended_ = 0;
  std::atomic<bool> over_ = false;
  std::jthread watch_;  // last: it uses the rest
};

}  // namespace

void give_up(const std::string& why) {
  log::error("{}", why);
  std::_Exit(3);
}

std::unique_ptr<Session> with_run_limit(std::unique_ptr<Session> session, Nanoseconds limit,
                                        std::function<void(const std::string& why)> stuck) {
  return std::make_unique<LimitedSession>(std::move(session), limit, std::move(stuck));
}

Result<std::unique_ptr<Session>> open_for(double seconds, const plan::Plan& plan, Clock& clock) {
  RIDGE_ASSIGN(std::unique_ptr<Session> session, open(plan, clock));
  if (seconds <= 0) return session;
  return with_run_limit(std::move(session), from_seconds(seconds) + kGrace);
}

}  // namespace ridge::engine
