// Connection: one client's socket and the state of the request it is in. Included by the server's own sources only.
//
//   handshake → idle → head → body | chunks | discard → handling → writing → idle …      (lingering, closed)
//                                                                          writing ⇄ streaming, of an answer that is sent as it comes
//
// One thread (its IoThread's).
#pragma once

#include <atomic>
#include <boost/asio/buffer.hpp>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "front/body.h"
#include "front/http/deadline.h"
#include "front/http/io_thread.h"
#include "front/http/parser.h"
#include "front/http/stream.h"

namespace ridge::front::http {

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(IoThread& thread, Stream stream, uint64_t id);

  void start();
  void complete(Response response);  // the answer to the request being handled
  void continue_stream();            // more of it may be there
  void enforce_deadline(TimePoint now);
  void begin_drain();
  void close();

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
  void warn_once(std::atomic<bool>& warned, const std::string& what);
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
  Stream stream_;
  uint64_t id_;
  bool from_this_machine_ = false;
  std::string client_address_;
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
  std::vector<boost::asio::const_buffer> pieces_;
  size_t next_piece_ = 0;
};

}  // namespace ridge::front::http
