#include "front/http/deadline.h"

#include <algorithm>

namespace ridge::front::http {
namespace {

constexpr std::chrono::seconds kLingerTime{2};

// A transfer that has stopped does not hold up the end of the server.
TimePoint drain_deadline(const Progress& progress, const ServerOptions& options, TimePoint drain_began) {
  if (drain_began == TimePoint::max()) return TimePoint::max();
  return std::max({drain_began, progress.began, progress.last_moved}) + options.drain_timeout;
}

// A connection earns time by each byte, and none for later silence.
TimePoint stall_deadline(const Progress& progress, const ServerOptions& options) {
  const double earned_s = static_cast<double>(progress.moved) / static_cast<double>(options.slowest_bytes_per_s);
  const TimePoint silent = std::max(progress.last_moved, progress.began) + options.stall_timeout;
  return std::min(progress.began + options.stall_timeout + from_seconds(earned_s), silent);
}

}  // namespace

TimePoint deadline_of(Phase phase, const Progress& progress, const ServerOptions& options, TimePoint drain_began) {
  const TimePoint drained = drain_deadline(progress, options, drain_began);
  switch (phase) {
    case Phase::kHandshake: return progress.began + options.head_timeout;
    case Phase::kIdle: return progress.began + options.idle_timeout;
    case Phase::kHead: return std::min(drained, progress.began + options.head_timeout);
    case Phase::kBody:
    case Phase::kChunks:
    case Phase::kDiscard:
    case Phase::kWriting: return std::min(drained, stall_deadline(progress, options));
    case Phase::kLingering: return progress.began + kLingerTime;
    case Phase::kHandling:
    case Phase::kStreaming:
    case Phase::kClosed: break;
  }
  return TimePoint::max();
}

}  // namespace ridge::front::http
