// Port: what answers behind a port, for its I/O threads: it makes connections and is told of looks. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace ridge::front::http {

class Connection;
class IoThread;
class Stream;

class Port {
 public:
  virtual ~Port() = default;
  virtual std::shared_ptr<Connection> connect(IoThread& thread, Stream stream, uint64_t id) = 0;
  // Protocols that a TLS client may choose, in the form of ALPN; of static storage.
  virtual std::string_view protocols() const = 0;
  // Bytes that refuse a connection for lack of room.
  virtual std::string no_room() const = 0;
  // After the requests that a look at the sockets of that I/O thread has found, before it waits.
  virtual void end_round(size_t /*io_thread*/) {}
  // Some requests' clients have left before their answers.
  virtual void clients_left() {}
  // Every few seconds: memory that is not needed may go.
  virtual void tidy() {}
};

}  // namespace ridge::front::http
