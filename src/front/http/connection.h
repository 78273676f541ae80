// Connection: a client's connection, as its I/O thread knows it. Included by the server's own sources only.
#pragma once

#include "base/clock.h"
#include "front/http/message.h"

namespace ridge::front::http {

// One thread (its IoThread's).
class Connection {
 public:
  virtual ~Connection() = default;

  virtual void start() = 0;
  virtual void enforce_deadline(TimePoint now) = 0;
  // The server's end is near: the client should turn elsewhere soon.
  virtual void retire() {}
  virtual void begin_drain() = 0;
  virtual void close() = 0;

  // HTTP/1.1: takes the answer to the request being handled; more of it may be there.
  virtual void complete(Response) {}  // NOLINT(performance-unnecessary-value-param): it is moved where there is one
  virtual void continue_stream() {}
  // HTTP/2: sends what has been left to send since IoThread::flush_soon().
  virtual void flush() {}
};

}  // namespace ridge::front::http
