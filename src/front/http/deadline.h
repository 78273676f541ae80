// Time limits for a connection's phases, so that silent and slow clients are closed and cost others nothing. Pure.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "front/http/server.h"

namespace ridge::front::http {

enum class Phase : uint8_t {
  kHandshake,
  kIdle,
  kHead,
  kBody,
  kChunks,
  kDiscard,
  kHandling,
  kWriting,
  kStreaming,  // an answer that is sent as it comes: all that is there has been sent
  kLingering,
  kClosed
};

struct Progress {
  TimePoint began;       // of the phase
  TimePoint last_moved;  // when bytes of it came or went last, if later
  uint64_t moved = 0;    // [bytes] in this phase
};

// TimePoint::max(): none, the server's own work is not the client's fault.
// `drain_began`: when the server began to end; TimePoint::max() = it has not.
TimePoint deadline_of(Phase phase, const Progress& progress, const ServerOptions& options,
                      TimePoint drain_began = TimePoint::max());

}  // namespace ridge::front::http
