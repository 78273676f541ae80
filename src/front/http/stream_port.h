// StreamPort: the code behind a port that speaks HTTP/2: it makes a handler for each stream. StreamHost: what carries
// streams. Thread-safe: every I/O thread calls a port; a host belongs to one of them.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "front/http/http2_session.h"
#include "front/http/port.h"
#include "front/http/server.h"

namespace ridge::front::http {

class CompletionQueue;

// The connection of some streams, or a test's.
class StreamHost {
 public:
  virtual ~StreamHost() = default;
  virtual Http2Session& session() = 0;
  virtual const ServerOptions& options() const = 0;
  virtual const std::shared_ptr<CompletionQueue>& mailbox() const = 0;  // of its thread
  virtual size_t io_thread() const = 0;
  virtual std::string_view client_address() const = 0;
  virtual bool from_this_machine() const = 0;
  virtual TimePoint drain_began() const = 0;  // max(): not yet
  // Port::end_round(), and Port::clients_left(), soon.
  virtual void end_round_soon() = 0;
  virtual void client_left() = 0;
};

struct StreamPortOptions {
  Http2Limits limits = {};
  std::chrono::milliseconds keepalive_time{
      7'200'000};  // after so long without a byte the client is asked for a sign of life
  std::chrono::milliseconds keepalive_timeout{20'000};  // and given so long
  // After so long clients are told to connect anew, and so long later cut off; 0: never.
  std::chrono::milliseconds connection_age{0}, connection_age_grace{0};
};

class StreamPort : public Port {
 public:
  explicit StreamPort(const StreamPortOptions& options) : stream_options(options) {}

  // The host outlives the stream, but not its handler: it ends with closed().
  virtual std::shared_ptr<StreamHandler> open(StreamHost& host, int32_t stream) = 0;

  std::shared_ptr<Connection> connect(IoThread& thread, Stream stream, uint64_t id) final;
  std::string_view protocols() const final { return "\x02h2"; }
  std::string no_room() const final;

  const StreamPortOptions stream_options;
};

}  // namespace ridge::front::http
