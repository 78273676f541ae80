// Http2Connection: one client's socket that speaks HTTP/2. Included by the server's own sources only.
//
//   handshake → open → lingering → closed
//
// It reads while the client takes what is sent to it, and writes what its session has. One thread (its IoThread's).
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "front/http/connection.h"
#include "front/http/deadline.h"
#include "front/http/io_thread.h"
#include "front/http/stream.h"
#include "front/http/stream_port.h"

namespace ridge::front::http {

class Http2Connection final : public Connection,
                              public StreamHost,
                              public std::enable_shared_from_this<Http2Connection> {
 public:
  Http2Connection(IoThread& thread, StreamPort& port, Stream stream, uint64_t id);

  void start() override;
  void enforce_deadline(TimePoint now) override;
  void retire() override { announce_end(); }
  void begin_drain() override;
  void close() override;
  void flush() override;

  Http2Session& session() override { return session_; }
  const ServerOptions& options() const override { return thread_.options(); }
  const std::shared_ptr<CompletionQueue>& mailbox() const override { return thread_.mailbox(); }
  size_t io_thread() const override { return thread_.index(); }
  std::string_view client_address() const override { return stream_.client_address(); }
  bool from_this_machine() const override { return stream_.from_this_machine(); }
  TimePoint drain_began() const override { return thread_.drain_began(); }
  void end_round_soon() override { thread_.end_round_soon(); }
  void client_left() override { thread_.client_left_now(); }

 private:
  using ErrorCode = Stream::ErrorCode;

  void read();
  void on_readable(const ErrorCode& failed);
  bool receive(std::span<const std::byte> bytes);
  bool write();
  void announce_end();
  void linger();
  bool is_late(TimePoint now);
  void keep_alive(TimePoint now);

  IoThread& thread_;
  const StreamPortOptions& options_;
  Stream stream_;
  uint64_t id_;
  Http2Session session_;
  Http2Output output_;  // being written
  Pieces pieces_;       // of it
  Phase phase_ = Phase::kIdle;
  TimePoint began_, received_, busy_, head_began_;  // received: the last bytes; busy: a stream was open
  Progress written_;                                // of output_
  TimePoint announced_ = TimePoint::max();          // when the client was told that the connection will end
  TimePoint pinged_ = TimePoint::max();             // no sign of life since
  bool flush_asked_ = false, ended_ = false;        // ended: new streams are refused
  bool reads_ = false, writes_ = false;             // waits for the socket to be readable, to be writable
};

}  // namespace ridge::front::http
