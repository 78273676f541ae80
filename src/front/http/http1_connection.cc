#include "front/http/http1_connection.h"

#include <linux/sockios.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/error.hpp>
#include <boost/asio/write.hpp>
#include <charconv>
#include <cstring>
#include <new>

namespace ridge::front::http {
namespace {

namespace asio = boost::asio;

// Younger requests are not worth a system call.
constexpr std::chrono::milliseconds kClientPatience{100};
constexpr std::chrono::milliseconds kAnswerPatience{1};  // likewise, when it has been answered
constexpr std::chrono::milliseconds kFirstRequest{250};  // of a connection that is new when the server begins to end

constexpr size_t kInputStart = 8 * 1024;               // [bytes]
constexpr char kTlsRecord = 0x16;                      // first byte of a TLS handshake; no method begins so
constexpr uint64_t kDiscardLimit = uint64_t{1} << 30;  // [bytes] of a refused body that are read before closing

// Offset of the first tensor in the body: behind the JSON header.
size_t tensor_offset(const Head& head) {
  size_t offset = 0;
  if (head.inference_length)
    std::from_chars(head.inference_length->data(), head.inference_length->data() + head.inference_length->size(),
                    offset);
  return offset;
}

std::optional<std::string_view> view(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  return *text;
}

std::string_view text_of(const std::optional<std::string>& field) { return field ? *field : std::string_view(); }

// A chunk of a body that is sent in chunks (RFC 9112, 7.1).
void append_chunk(std::string& into, std::string_view data) {
  std::array<char, 16> digits;
  into.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), data.size(), 16).ptr);
  into.append("\r\n").append(data).append("\r\n");
}

}  // namespace

std::shared_ptr<Connection> Handler::connect(IoThread& thread, Stream stream, uint64_t id) {
  return std::make_shared<Http1Connection>(thread, *this, std::move(stream), id);
}

std::string Handler::no_room() const {
  constexpr std::string_view kBody =
      "{\"error\":\"the server has as many connections as it allows, in all or from one address; try again later\"}";
  return "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: " +
         std::to_string(kBody.size()) + "\r\n\r\n" + std::string(kBody);
}

Http1Connection::Http1Connection(IoThread& thread, Handler& handler, Stream stream, uint64_t id)
    : thread_(thread), handler_(handler), stream_(std::move(stream)), id_(id), parser_(thread.options().header_limit) {
  input_.resize(kInputStart);
}

void Http1Connection::start() {
  enter(stream_.is_tls() ? Phase::kHandshake : Phase::kIdle);
  read_input();
}

void Http1Connection::enter(Phase phase) {
  phase_ = phase;
  progress_ = {.began = thread_.now(), .last_moved = {}, .moved = 0};
}

void Http1Connection::close() {
  if (phase_ == Phase::kClosed) return;
  if (phase_ == Phase::kHandling) thread_.client_left();
  if (phase_ == Phase::kHandling || answers()) report(kClientLeft);
  if (response_.stream) response_.stream->close();
  client_.request_stop();
  phase_ = Phase::kClosed;
  stream_.close();
  thread_.forget(id_);
}

void Http1Connection::begin_drain() {
  if (phase_ == Phase::kLingering || (phase_ == Phase::kIdle && asked_)) close();  // a first request may be under way
}

// ---- reading

void Http1Connection::read_input() {
  if (begin_ == end_) begin_ = end_ = 0;
  if (begin_ > 0) {
    std::memmove(input_.data(), input_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == input_.size()) input_.resize(2 * input_.size());  // the parser bounds the unconsumed data
  stream_.async_read_some(asio::buffer(input_.data() + end_, input_.size() - end_),
                          [self = shared_from_this()](const ErrorCode& ec, size_t count) {
                            IoThread::guarded(*self, [&] { self->on_input(ec, count); });
                          });
}

void Http1Connection::read_body() {
  std::span<std::byte> room = body_->room(static_cast<size_t>(remaining_));
  stream_.async_read_some(asio::buffer(room.data(), room.size()),
                          [self = shared_from_this()](const ErrorCode& ec, size_t count) {
                            IoThread::guarded(*self, [&] { self->on_body(ec, count); });
                          });
}

void Http1Connection::on_input(const ErrorCode& ec, size_t count) {
  if (phase_ == Phase::kClosed) return;
  if (ec) return read_failed();
  if (phase_ == Phase::kHandshake) enter(Phase::kIdle);
  end_ += count;
  progress_.moved += count;
  received_ = progress_.last_moved = thread_.now();
  if (phase_ == Phase::kLingering) {
    begin_ = end_ = 0;
    return read_input();
  }
  advance();
  thread_.run_completions();
}

void Http1Connection::on_body(const ErrorCode& ec, size_t count) {
  if (phase_ == Phase::kClosed) return;
  if (ec) return close();
  body_->commit(count);
  remaining_ -= count;
  progress_.moved += count;
  progress_.last_moved = thread_.now();
  advance();
  thread_.run_completions();
}

// During a handshake the log says why, once a port: others may try as often as they like.
void Http1Connection::read_failed() {
  if (phase_ != Phase::kHandshake) return close();
  if (stream_.fall_back_to_plain()) {
    Warnings& warnings = thread_.warnings();
    warnings.once(warnings.plain_to_tls, "a client spoke plain HTTP, and was told to use https (--tls-cert)");
    refuse(400, "this port speaks TLS: use https://");
    return thread_.run_completions();
  }
  thread_.warnings().failed_handshake(stream_.handshake_problem());
  close();
}

void Http1Connection::advance() {
  try {
    while (true) {
      bool more = false;
      switch (phase_) {
        case Phase::kIdle:
        case Phase::kHead: more = advance_head(); break;
        case Phase::kBody: more = advance_body(); break;
        case Phase::kChunks: more = advance_chunks(); break;
        case Phase::kDiscard: more = advance_discard(); break;
        default: break;
      }
      if (!more) return;
    }
  } catch (const std::bad_alloc&) {
    body_.reset();
    refuse(503, "not enough memory for this request's body (--max-body-memory); try again later");
  }
}

void Http1Connection::begin_message() {
  enter(Phase::kHead);
  arrived_ = received_;
  probed_ = false;
  request_ = {};
  parser_.reset();
}

bool Http1Connection::advance_head() {
  if (begin_ == end_) {
    read_input();
    return false;
  }
  if (phase_ == Phase::kIdle) begin_message();
  const char first = input_[begin_];
  RequestParser::Step step = parser_.feed_head(pending_input());
  begin_ += step.consumed;
  if (first == kTlsRecord && step.event != RequestParser::Event::kHead) {
    refuse_tls();
    return false;
  }
  if (step.event == RequestParser::Event::kNeedMore) {
    read_input();
    return false;
  }
  if (step.event == RequestParser::Event::kBad) {
    refuse(parser_.problem_status(), parser_.problem());
    return false;
  }
  begin_content();
  return true;
}

// A client that waits for the server's part of a handshake.
void Http1Connection::refuse_tls() {
  thread_.warnings().tls_at_plain_port();
  refuse(400, "this port speaks plain HTTP, not TLS: use http://");
}

void Http1Connection::begin_content() {
  const Head& head = parser_.head();
  keep_alive_ = head.keep_alive;
  body_.reset();  // of a refused request
  describe_request();
  if (std::optional<Response> refusal = handler_.refusal(request_)) {
    const bool has_body = head.chunked || head.content_length.value_or(0) > 0;
    if (has_body) return refuse(std::move(*refusal));  // it is not read
    phase_ = Phase::kHandling;
    return Responder(thread_.mailbox(), id_).send(std::move(*refusal));
  }
  if (!head.chunked && head.content_length.value_or(0) == 0) return dispatch();
  limit_ = handler_.body_limit(request_);
  remaining_ = head.content_length.value_or(0);
  if (remaining_ > limit_.bytes) return refuse_content(remaining_);
  body_ = thread_.bodies().take();
  body_->start(tensor_offset(head));
  if (head.expects_continue && !head.http_1_0 && begin_ == end_) send_continue();
  enter(head.chunked ? Phase::kChunks : Phase::kBody);
}

// An oversized body is read and dropped, so that the client gets the answer and can continue; a huge one is not.
void Http1Connection::refuse_content(uint64_t size) {
  if (size > kDiscardLimit || parser_.head().expects_continue)
    return refuse(413, "the body has " + std::to_string(size) + " bytes; this server accepts " +
                           std::to_string(limit_.bytes) + limit_.remedy());
  enter(Phase::kDiscard);
}

void Http1Connection::send_continue() {
  constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  ErrorCode ec;
  stream_.write_some(asio::buffer(kContinue.data(), kContinue.size()), ec);  // an idle socket can buffer 25 bytes
}

bool Http1Connection::advance_body() {
  while (remaining_ > 0 && begin_ < end_) {
    std::span<std::byte> room = body_->room(static_cast<size_t>(remaining_));
    size_t count = std::min(room.size(), end_ - begin_);
    std::memcpy(room.data(), input_.data() + begin_, count);
    body_->commit(count);
    begin_ += count;
    remaining_ -= count;
  }
  if (remaining_ > 0)
    read_body();
  else
    dispatch();
  return false;
}

bool Http1Connection::advance_chunks() {
  RequestParser::Step step{};
  if (begin_ < end_) step = parser_.feed_chunks(pending_input(), *body_, limit_.bytes);
  begin_ += step.consumed;
  uint64_t received = parser_.body_received();
  std::string too_long = "the chunked body is longer than the " + std::to_string(limit_.bytes) +
                         " bytes that are accepted" + limit_.remedy();
  if (step.event == RequestParser::Event::kBad) {
    refuse(400, parser_.problem());
  } else if (received > limit_.bytes && received > kDiscardLimit) {
    refuse(413, too_long);
  } else if (step.event == RequestParser::Event::kNeedMore) {
    read_input();
  } else if (received > limit_.bytes) {
    body_.reset();
    phase_ = Phase::kHandling;
    Responder(thread_.mailbox(), id_).send(error_response(413, too_long));
  } else {
    dispatch();
  }
  return false;
}

bool Http1Connection::advance_discard() {
  size_t count = static_cast<size_t>(std::min<uint64_t>(remaining_, end_ - begin_));
  begin_ += count;
  remaining_ -= count;
  if (remaining_ > 0) {
    read_input();
    return false;
  }
  phase_ = Phase::kHandling;
  Responder(thread_.mailbox(), id_)
      .send(error_response(413, "the body has " + std::to_string(*parser_.head().content_length) +
                                    " bytes; this server accepts " + std::to_string(limit_.bytes) + limit_.remedy()));
  return false;
}

// Its texts are the parser's.
void Http1Connection::describe_request() {
  const Head& head = parser_.head();
  request_ = {.method = head.method,
              .target = head.target,
              .inference_length = view(head.inference_length),
              .content_encoding = view(head.content_encoding),
              .accept_encoding = view(head.accept_encoding),
              .trace_parent = text_of(head.trace_parent),
              .trace_state = text_of(head.trace_state),
              .credentials = {text_of(head.authorization), text_of(head.api_key)},
              .body = nullptr,
              .arrived = arrived_,
              .io_thread = thread_.index(),
              .client_address = stream_.client_address(),
              .from_this_machine = stream_.from_this_machine() && !head.renamed,
              .cross_site = head.cross_site,
              .client = client_.get_token()};
}

void Http1Connection::dispatch() {
  phase_ = Phase::kHandling;
  request_.body = std::move(body_);
  handler_.handle(request_, Responder(thread_.mailbox(), id_));
  request_.body.reset();
  thread_.end_round_soon();
}

void Http1Connection::refuse(Response response) {
  describe_request();  // as far as it was read
  keep_alive_ = false;
  phase_ = Phase::kHandling;
  Responder(thread_.mailbox(), id_).send(std::move(response));
}

// ---- writing

void Http1Connection::complete(Response response) {
  if (phase_ != Phase::kHandling) return;
  response_ = std::move(response);
  if (response_.status >= 400) handler_.shape_error(request_, response_);
  if (response_.stream && parser_.head().method == Method::kHead) std::exchange(response_.stream, nullptr)->close();
  const bool ends_by_closing = response_.stream && parser_.head().http_1_0;
  if (response_.close || ends_by_closing || !thread_.keeps_connections()) keep_alive_ = false;
  enter(Phase::kWriting);
  sent_ = 0;
  write_head();
  pieces_.clear();
  pieces_.add(head_.data(), head_.size());
  if (parser_.head().method != Method::kHead) {
    pieces_.add(response_.text.data(), response_.text.size());
    for (std::span<const std::byte> blob : response_.blobs) pieces_.add(blob.data(), blob.size());
  }
  if (response_.stream) response_.stream->open([mailbox = thread_.mailbox(), id = id_] { mailbox->wake(id); });
  write();
}

void Http1Connection::continue_stream() {
  if (phase_ == Phase::kStreaming && take_stream()) write();
}

// Turns a stream's available text into the next pieces. False: nothing is there, or the connection has been closed.
bool Http1Connection::take_stream() {
  const AnswerStream::Taken taken = response_.stream->take();
  if (taken.given_up) {
    close();
    return false;
  }
  if (taken.text.empty() && !taken.ended) {
    enter(Phase::kStreaming);
    return false;
  }
  if (taken.ended) response_.stream = nullptr;
  put_chunk(taken.text, taken.ended);
  return true;
}

// HTTP/1.0 has no chunks: there the end of the connection is that of the answer.
void Http1Connection::put_chunk(std::string_view text, bool last) {
  enter(Phase::kWriting);
  if (parser_.head().http_1_0) {
    chunk_ = text;
  } else {
    chunk_.clear();
    if (!text.empty()) append_chunk(chunk_, text);
    if (last) chunk_ += "0\r\n\r\n";
  }
  pieces_.clear();
  pieces_.add(chunk_.data(), chunk_.size());
}

void Http1Connection::write() {
  do {
    if (!write_pieces()) return;
  } while (response_.stream && take_stream());
  if (phase_ == Phase::kWriting && !response_.stream) written();
}

// False: the rest is written later, or the connection has been closed.
bool Http1Connection::write_pieces() {
  while (!pieces_.all_sent() || stream_.has_unsent()) {
    ErrorCode ec;
    const size_t count = pieces_.write_to(stream_, ec);
    if (ec == asio::error::would_block || ec == asio::error::try_again) {
      stream_.socket().async_wait(Stream::Socket::wait_write, [self = shared_from_this()](const ErrorCode& failed) {
        if (self->phase_ == Phase::kClosed) return;
        if (failed) return self->close();
        IoThread::guarded(*self, [&] { self->write(); });
        self->thread_.run_completions();
      });
      return false;
    }
    if (ec) {
      close();
      return false;
    }
    progress_.moved += count;
    sent_ += count;
    progress_.last_moved = thread_.now();
  }
  return true;
}

// Without memory for it, that is all that is lacking.
void Http1Connection::report(int status) try {
  const Head& head = parser_.head();
  handler_.ended(request_, {.status = status,
                            .bytes_in = head.chunked ? parser_.body_received() : head.content_length.value_or(0),
                            .bytes_out = answers() && sent_ > head_.size() ? sent_ - head_.size() : 0,
                            .duration = thread_.now() - arrived_,
                            .response = answers() ? &response_ : nullptr});
} catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): see above
}

// True if the client has ended its sending and has not acknowledged the answer: one that had closed its socket resets
// the connection instead, and did not get it.
bool Http1Connection::awaits_client() {
  if (begin_ != end_ || thread_.now() - arrived_ < kAnswerPatience) return false;
  pollfd socket{stream_.socket().native_handle(), POLLRDHUP, 0};
  if (::poll(&socket, 1, 0) <= 0) return false;
  if ((socket.revents & (POLLERR | POLLHUP)) != 0) {
    close();
    return true;
  }
  int unacknowledged = 0;
  return ::ioctl(socket.fd, SIOCOUTQ, &unacknowledged) == 0 && unacknowledged > 0;  // enforce_deadline() looks again
}

void Http1Connection::written() {
  if (awaits_client()) return;
  asked_ = true;
  report(response_.status);
  phase_ = Phase::kIdle;  // close() has nothing more to report
  response_ = {};
  if (!keep_alive_) return linger();
  if (thread_.draining() && begin_ == end_) return close();
  if (begin_ == end_ && input_.size() > kInputStart) {  // an idle connection keeps little
    begin_ = end_ = 0;
    input_ = std::string(kInputStart, 0);
  }
  enter(Phase::kIdle);
  advance();
}

// Closing with unread bytes in the socket would send a reset, which can overtake the answer: shut our side, then read
// until the client has closed its own (RFC 9112, 9.6).
void Http1Connection::linger() {
  if (thread_.draining() && begin_ == end_) return close();
  enter(Phase::kLingering);
  begin_ = end_ = 0;
  ErrorCode ec;
  stream_.shutdown_send(ec);
  if (ec) return close();
  read_input();
}

// ---- deadlines

void Http1Connection::enforce_deadline(TimePoint now) {
  if (phase_ == Phase::kHandling && now - arrived_ > kClientPatience && client_is_gone()) return close();
  if (phase_ == Phase::kStreaming) return probe_stream(now);
  if (phase_ == Phase::kHandshake && !stream_.handshaking()) enter(Phase::kIdle);
  const bool silent = phase_ == Phase::kIdle || phase_ == Phase::kHandshake;
  if (silent && thread_.draining() && now - thread_.drain_began() >= kFirstRequest) return close();
  if (now < deadline_of(phase_, progress_, thread_.options(), thread_.drain_began())) {
    if (phase_ == Phase::kWriting && pieces_.all_sent() && !stream_.has_unsent()) written();
    return;
  }
  if (silent || phase_ == Phase::kWriting || phase_ == Phase::kLingering)
    close();
  else
    timed_out();
}

// A client that closed its socket and one that only ended its sending look the same (RFC 9293, 3.6). The second must
// get its answer, so an interim response, which every client skips (RFC 9110, 15.2), is sent: the first resets the
// connection. HTTP/1.0 has none (the same), and such a client counts as waiting until a reset.
bool Http1Connection::client_is_gone() {
  pollfd socket{stream_.socket().native_handle(), POLLRDHUP, 0};
  if (::poll(&socket, 1, 0) <= 0) return false;
  if ((socket.revents & (POLLERR | POLLHUP)) != 0) return true;
  if (!std::exchange(probed_, true) && !parser_.head().http_1_0) send_continue();
  return false;
}

// Likewise while a silent answer is under way: a client whose end of sending was seen gets meaningless bytes.
void Http1Connection::probe_stream(TimePoint now) {
  if (now - progress_.began <= kClientPatience) return;
  pollfd socket{stream_.socket().native_handle(), POLLRDHUP, 0};
  if (::poll(&socket, 1, 0) <= 0) return;
  if ((socket.revents & (POLLERR | POLLHUP)) != 0) return close();
  if (response_.stream->filler.empty()) return;
  put_chunk(response_.stream->filler, false);
  write();
}

// Answers once, if the client listens, and closes: a read is still pending, so there is no lingering.
void Http1Connection::timed_out() {
  keep_alive_ = false;
  response_ = error_response(408, "the request was not received in time");
  write_head();
  head_ += response_.text;
  ErrorCode ec;
  stream_.write_some(asio::buffer(head_), ec);
  report(response_.status);
  close();
}

}  // namespace ridge::front::http
