// Http2Session: one HTTP/2 connection (RFC 9113) without its socket: bytes of the client become calls of its streams'
// handlers, whose output becomes bytes. By nghttp2, which keeps to the protocol; limits of what a client may cost are
// here.
//
// One thread. Handlers may call the session from within their calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "front/http/sent_part.h"

struct nghttp2_session;

namespace ridge::front::http {

struct Field {
  std::string_view name, value;
};

// Frames on their way to the socket: short ones as a text, long data where it lies.
class Http2Output {
 public:
  void append(std::string_view bytes);
  void refer(std::span<const std::byte> bytes, const std::shared_ptr<const void>& owner);
  void clear();
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // take(data, size) of each piece in turn, valid until the next change.
  template <typename Take>
  void for_each(Take take) const {
    for (const Piece& piece : pieces_)
      take(piece.data != nullptr ? static_cast<const void*>(piece.data) : text_.data() + piece.offset, piece.size);
  }

 private:
  struct Piece {
    const std::byte* data;  // null: at `offset` in the text
    size_t offset, size;
    std::shared_ptr<const void> owner;
  };
  std::string text_;
  std::vector<Piece> pieces_;
  size_t size_ = 0;
};

// Answers one stream.
class StreamHandler {
 public:
  virtual ~StreamHandler() = default;
  virtual void take_field(std::string_view name, std::string_view value) = 0;
  virtual void begin() = 0;  // all fields are there
  // The client has sent more fields than it may; begin() is not called.
  virtual void refuse_head() = 0;
  // Until Http2Session::consumed() says so, these bytes count against what the client may send.
  virtual void take_body(std::span<const std::byte> bytes) = 0;
  virtual void end_body() = 0;
  virtual void sent() = 0;  // all of what Http2Session::send() was given has left for the socket
  // The stream has ended; its session may not be called any more. `whole`: the answer's end has left. Throws nothing.
  virtual void closed(bool whole) = 0;
  virtual void tick(TimePoint /*now*/) {}
  virtual void begin_drain() {}
};

struct Http2Limits {
  uint32_t streams = 1024;           // at the same time
  uint32_t fields = 64 * 1024;       // [bytes] of a stream's head
  uint32_t window = 4 << 20;         // [bytes] of one stream that are not consumed
  uint32_t frame = 1 << 20;          // [bytes] that a frame may hold
  uint64_t resets = 1000;            // streams that the client ends at once, and as many again per
  uint64_t resets_per_second = 500;  // second
};

class Http2Session {
 public:
  using Open = std::function<std::shared_ptr<StreamHandler>(int32_t stream)>;
  // `wants_send` is called when there may be something to send.
  Http2Session(const Http2Limits& limits, Open open, std::function<void()> wants_send);
  ~Http2Session();
  Http2Session(const Http2Session&) = delete;
  Http2Session& operator=(const Http2Session&) = delete;

  // False: the client broke the protocol or a limit. What is left to send tells it, then the connection ends.
  bool receive(std::span<const std::byte> bytes);
  // Adds frames until there are about `most` bytes or no more.
  void produce(Http2Output& output, size_t most);
  // sent() of the handlers all of whose bytes were produced.
  void report_sent();
  // Nothing more is read or sent: the connection ends at once.
  bool over() const;
  bool in_head() const { return in_head_; }  // of a stream that the client has not sent wholly
  bool greeted() const { return greeted_; }  // the client's first frame is there
  size_t streams() const { return streams_.size(); }
  size_t waiting_frames() const;
  // visit(handler) of each stream.
  template <typename Visit>
  void for_each(Visit visit) {
    for (auto& [number, stream] : streams_) visit(*stream.handler);
  }
  void close_streams();  // the connection has ended

  // Streams are told, and new ones refused, after end(). announce_end() comes earlier, so that none is lost (6.8).
  void announce_end();
  void end();
  void ping();

  // For a stream that has not ended.
  // The answer's head; `ends`: nothing follows.
  void respond(int32_t stream, std::span<const Field> fields, bool ends);
  void send(int32_t stream, std::vector<SentPart> parts);
  // Behind all that was sent. After respond().
  void finish(int32_t stream, std::span<const Field> trailers);
  void reset(int32_t stream);
  void consumed(int32_t stream, size_t bytes);
  size_t unsent(int32_t stream) const;        // [bytes] of send()
  uint64_t sent_bytes(int32_t stream) const;  // [bytes] that have left

 private:
  struct Stream {
    std::shared_ptr<StreamHandler> handler;
    uint64_t head_bytes = 0, sent = 0;
    bool finishes = false, ended = false, waits = false;  // waits: nghttp2 does not ask for data until it is told
    size_t next = 0, offset = 0, unsent = 0;              // of the parts: the first unsent, and what of it was sent
    std::vector<SentPart> parts;
    std::vector<std::pair<std::string, std::string>> trailers;
  };
  struct Callbacks;  // of nghttp2

  Stream& at(int32_t stream) { return streams_.at(stream); }
  const Stream& at(int32_t stream) const { return streams_.at(stream); }
  void resume(int32_t number, Stream& stream);
  void give_up();
  void take_data(Stream& stream, size_t count);

  const Http2Limits limits_;
  const Open open_;
  const std::function<void()> wants_send_;
  nghttp2_session* session_ = nullptr;
  Http2Output* output_ = nullptr;  // while produce() runs
  size_t most_ = 0;                // [bytes] of it
  std::map<int32_t, Stream> streams_;
  std::vector<int32_t> all_sent_;  // for report_sent()
  bool in_head_ = false, greeted_ = false, given_up_ = false, broken_ = false;
  uint64_t invalid_frames_ = 0;
};

}  // namespace ridge::front::http
