// The interface between the HTTP server and the code that answers: requests with their body, responses in pieces.
//
// A Request's texts belong to the connection and live until handle() returns; its body lives as long as it is held.
// Values; a Responder may be used once, from any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "front/access.h"
#include "front/body.h"
#include "front/http/answer_stream.h"
#include "front/http/port.h"
#include "front/size_limit.h"
#include "front/trace.h"

namespace ridge::front::http {

enum class Method : uint8_t { kGet, kHead, kPost, kOther };

struct Request {
  Method method = Method::kOther;
  std::string_view target;                           // as sent: path and query, percent-encoded
  std::optional<std::string_view> inference_length;  // Inference-Header-Content-Length
  std::optional<std::string_view> content_encoding;
  std::optional<std::string_view> accept_encoding;
  std::string_view trace_parent = {}, trace_state = {};  // empty: not sent
  Credentials credentials;
  std::shared_ptr<Body> body;  // null = none was sent
  TimePoint arrived{};         // when its first byte was seen
  size_t io_thread = 0;        // index of the thread that calls handle()
  std::string_view client_address = {};
  bool from_this_machine = false;  // over the loopback interface, and not by a page that reached it under another name
  bool cross_site = false;         // a browser sends it for a page of another server
  std::stop_token client = {};     // requested: the client has left, and no answer reaches it
};

struct Response {
  int status = 200;
  std::string_view content_type = "application/json";  // of static storage
  std::string_view content_encoding;                   // of static storage; empty = identity
  std::string_view allow;                              // of static storage; for 405
  std::string_view authenticate;                       // of static storage; WWW-Authenticate, for 401
  int64_t retry_after_s = 0;                           // [s] for Retry-After; 0 = do not send it
  bool has_inference_length = false;                   // send Inference-Header-Content-Length = inference_length
  size_t inference_length = 0;
  std::string text;                                 // first part of the body
  std::vector<std::span<const std::byte>> blobs;    // the rest of it, sent without copying
  std::vector<std::shared_ptr<const void>> owners;  // keep the blobs' memory
  std::shared_ptr<AnswerStream> stream;             // more of the body, which is sent as it comes; null: that is all
  std::string request_id;                           // of the protocol, for the access log; not sent
  std::string model;                                // likewise, where the path does not name it
  std::string error;                                // the text of an error, for the trace; not sent
  std::string error_about;                          // the request's member that it is about; empty: none
  std::shared_ptr<Trace> trace;                     // ends when the answer has been sent; null: not traced
  bool close = false;                               // close the connection after this answer
};

// Where finished answers go: the I/O thread that owns the connection.
class CompletionQueue;
struct Completion;

// The slot of a request that waits for its answer.
struct ReplyTo {
  const std::shared_ptr<CompletionQueue>& mailbox;
  uint64_t connection = 0;
};

// A deferred answer. Runs on the connection's thread, so that the calling (worker) thread is free at once. If the
// answer would take that thread too long: nullopt, and a Responder made from the argument answers when it is done.
using Finish = std::function<std::optional<Response>(const ReplyTo&)>;

class Responder {
 public:
  Responder(std::shared_ptr<CompletionQueue> mailbox, uint64_t connection);
  explicit Responder(const ReplyTo& to) : Responder(to.mailbox, to.connection) {}
  Responder(Responder&& other) noexcept;
  Responder& operator=(Responder&& other) noexcept;
  ~Responder();  // unanswered: the client gets a 503, not silence

  // Need no memory. Where it is lacking for what send_later() is given, that is the answer.
  void send(Response response);
  template <typename Work>
  void send_later(Work finish) {
    try {
      send_what(Finish(std::move(finish)));
    } catch (const std::bad_alloc&) {
      drop();
    }
  }

 private:
  void send_what(Finish finish);
  void drop();

  std::shared_ptr<CompletionQueue> completions_;  // null = answered
  std::list<Completion> completion_;              // one
};

// How a request ended.
struct Outcome {
  int status = 0;                // kClientLeft: before its whole answer
  uint64_t bytes_in = 0;         // of the body
  uint64_t bytes_out = 0;        // of the answer's body, as far as sent
  Nanoseconds duration{0};       // from the request's first byte to the answer's last
  Response* response = nullptr;  // null: none was made
};
constexpr int kClientLeft = 499;  // nginx' number for it

// The code behind a port that speaks HTTP/1.1. Thread-safe: every I/O thread calls it. Must not block.
class Handler : public Port {
 public:
  std::shared_ptr<Connection> connect(IoThread& thread, Stream stream, uint64_t id) final;
  std::string_view protocols() const final { return "\x08http/1.1"; }
  std::string no_room() const final;
  // Limit of the body of a request with this head; the body itself is not there yet.
  virtual SizeLimit body_limit(const Request& head) = 0;
  // The answer to a request with this head whose client may not make it; absent: it may.
  virtual std::optional<Response> refusal(const Request&) { return std::nullopt; }
  virtual void handle(const Request& request, Responder responder) = 0;
  // Before an answer with an error's status is sent: in the form of the request's protocol.
  virtual void shape_error(const Request&, Response&) {}
  // The request has been answered, or its connection has ended. Its body is not there any more.
  virtual void ended(const Request&, const Outcome&) {}
};

// {"error": message} with that status.
Response error_response(int status, std::string_view message);
// Has the protocol's status for the error.
Response error_response(const Error& error);
// Error of a request to run a model: kUnavailable comes with Retry-After.
Response inference_error_response(const Error& error);
// For an undecodable body: HTTP has status codes of its own for it.
Response body_error_response(const Error& error);

}  // namespace ridge::front::http
