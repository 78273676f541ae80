// Trace: what is recorded of one traced request. It becomes spans when its last holder lets it go: so neither a client
// that leaves nor a worker that answers late can reach one that is on its way.
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "front/backlog.h"
#include "serve/service.h"

namespace ridge::front {

struct TraceRecord {
  std::string protocol;  // "http", "grpc"
  std::string model, request_id;
  std::string trace_id, span_id;  // hexadecimal digits
  std::string parent_id, state;   // of the caller; empty: none
  TimePoint arrived{}, ended{};   // from the request's first byte to the answer's last
  serve::StageTimes stages;
  std::string error;  // of the server, not of its client; empty: none
};

class Trace {
 public:
  Trace(TraceRecord first, std::shared_ptr<Backlog<TraceRecord>> to, Clock& clock)
      : record(std::move(first)), to_(std::move(to)), clock_(clock) {}
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;
  ~Trace() {
    if (record.ended == TimePoint{}) record.ended = clock_.now();
    to_->put(std::move(record), 1);
  }

  // The answer has been sent.
  void end() { record.ended = clock_.now(); }

  TraceRecord record;  // of the holder whose turn it is: front, server, front

 private:
  const std::shared_ptr<Backlog<TraceRecord>> to_;
  Clock& clock_;
};

// Where the server writes the stages of a traced request; null: not traced.
inline std::shared_ptr<serve::StageTimes> stages_of(const std::shared_ptr<Trace>& trace) {
  return trace ? std::shared_ptr<serve::StageTimes>(trace, &trace->record.stages) : nullptr;
}

}  // namespace ridge::front
