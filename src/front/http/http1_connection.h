// Http1Connection: one client's socket that speaks HTTP/1.1, and its request's state. For the server's own sources.
//
//   handshake → idle → head → body | chunks | discard → handling → writing → idle …      (lingering, closed)
//                                                   writing ⇄ streaming, of an answer that is sent as it comes
//
// One thread (its IoThread's).
#pragma once

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "front/body.h"
#include "front/http/connection.h"
#include "front/http/deadline.h"
#include "front/http/io_thread.h"
#include "front/http/parser.h"
#include "front/http/stream.h"

namespace ridge::front::http {

class Http1Connection final : public Connection, public std::enable_shared_from_this<Http1Connection> {
 public:
  Http1Connection(IoThread& thread, Handler& handler, Stream stream, uint64_t id);

  void start() override;
  void complete(Response response) override;
  void continue_stream() override;
  void enforce_deadline(TimePoint now) override;
  void begin_drain() override;
  void close() override;

 private:
  using ErrorCode = boost::system::error_code;

  // Reading. advance() consumes the received data and starts the next read if more is needed.
  void advance();
  bool advance_head();
  bool advance_body();
  bool advance_chunks();
  bool advance_discard();
  void read_input();
  void read_body();
  void on_input(const ErrorCode& ec, size_t count);
  void on_body(const ErrorCode& ec, size_t count);
  void read_failed();
  void begin_message();
  void refuse_tls();
  void begin_content();
  void refuse_content(uint64_t limit);
  void send_continue();
  void dispatch();
  void describe_request();
  // Answers by itself; the connection closes after it.
  void refuse(Response response);
  void refuse(int status, std::string_view message) { refuse(error_response(status, message)); }

  // Writing.
  void write_head();
  void write();
  bool write_pieces();
  bool take_stream();
  void put_chunk(std::string_view text, bool last);
  void probe_stream(TimePoint now);
  void written();
  void linger();
  void timed_out();
  bool client_is_gone();
  bool awaits_client();
  void report(int status);

  std::string_view pending_input() const { return {input_.data() + begin_, end_ - begin_}; }
  bool answers() const { return phase_ == Phase::kWriting || phase_ == Phase::kStreaming; }
  void enter(Phase phase);

  IoThread& thread_;
  Handler& handler_;
  Stream stream_;
  uint64_t id_;
  Phase phase_ = Phase::kIdle;
  Progress progress_;

  std::string input_;  // bytes [begin_, end_) are not consumed yet
  size_t begin_ = 0, end_ = 0;
  RequestParser parser_;
  Request request_;  // from its whole head on
  bool keep_alive_ = true;
  TimePoint received_;  // the newest bytes of input_
  TimePoint arrived_;
  std::stop_source client_;  // stopped when the connection closes
  bool probed_ = false;      // in this request
  bool asked_ = false;       // an answer of it was written
  std::shared_ptr<Body> body_;
  uint64_t remaining_ = 0;  // [bytes] of the body still to come
  SizeLimit limit_;         // of the body

  Response response_;
  std::string head_;   // of the response
  std::string chunk_;  // of a stream, in its frame
  uint64_t sent_ = 0;  // [bytes] of the response with its head
  Pieces pieces_;
};

}  // namespace ridge::front::http
