#include "client/grpc_wire.h"

#include <fmt/format.h>
#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

#include "base/percent.h"

namespace ridge::client {
namespace {

constexpr size_t kPrefix = 5;                      // [bytes] before a message
constexpr int32_t kWindow = 64 << 20;              // [bytes] that a server may send before it hears of their arrival
constexpr uint32_t kMostFrame = 1 << 20;           // [bytes] of a frame that it may send
constexpr size_t kMostAtOnce = size_t{256} << 10;  // [bytes] collected for one call of the system
constexpr size_t kMostText = 2000;                 // [bytes] kept of a status message

// Codes of gRPC that name a stream's end without a status (PROTOCOL-HTTP2.md, "Errors").
int status_of_reset(uint32_t error) {
  switch (error) {
    case NGHTTP2_REFUSED_STREAM: return kGrpcStatus + 14;      // UNAVAILABLE
    case NGHTTP2_CANCEL: return kGrpcStatus + 1;               // CANCELLED
    case NGHTTP2_ENHANCE_YOUR_CALM: return kGrpcStatus + 8;    // RESOURCE_EXHAUSTED
    case NGHTTP2_INADEQUATE_SECURITY: return kGrpcStatus + 7;  // PERMISSION_DENIED
    default: return kGrpcStatus + 13;                          // INTERNAL
  }
}

std::optional<int> number(std::string_view text) {
  int value = 0;
  if (text.empty() || text.size() > 3) return std::nullopt;
  for (char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = 10 * value + (c - '0');
  }
  return value;
}

nghttp2_nv field(std::string_view name, std::string_view value) {
  const auto bytes = [](std::string_view text) { return reinterpret_cast<uint8_t*>(const_cast<char*>(text.data())); };
  return {bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
}

// One HTTP/2 connection. A stream at a time: the callers of a load have connections of their own.
class GrpcWire final : public Wire {
 public:
  GrpcWire(std::string authority, const BodyLimits& keep) : authority_(std::move(authority)), keep_(keep) {}
  GrpcWire(const GrpcWire&) = delete;
  GrpcWire& operator=(const GrpcWire&) = delete;
  ~GrpcWire() override { nghttp2_session_del(session_); }

  void open() override {
    nghttp2_session_del(std::exchange(session_, nullptr));
    output_.clear();
    unsent_ = {};
    stream_ = 0;
    goes_away_ = broken_ = false;
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_header_callback(callbacks, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, on_frame);
    nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks, on_invalid);
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, on_sent);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, on_close);
    nghttp2_session_client_new(&session_, callbacks, this);
    nghttp2_session_callbacks_del(callbacks);
    const std::array<nghttp2_settings_entry, 3> settings = {{{NGHTTP2_SETTINGS_ENABLE_PUSH, 0},
                                                             {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, kWindow},
                                                             {NGHTTP2_SETTINGS_MAX_FRAME_SIZE, kMostFrame}}};
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings.data(), settings.size());
    nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, kWindow);
  }

  void begin(const Request& request) override {
    left_ = request.bytes;
    response_.status = 0;
    response_.body_size = 0;
    response_.body.clear();
    response_.keep_alive = true;
    prefix_size_ = 0;
    length_ = 0;
    grpc_status_.reset();
    message_.clear();
    in_flight_ = true;
    answering_ = done_ = compressed_ = invalid_ = false;
    const std::array<nghttp2_nv, 7> head = {{field(":method", "POST"), field(":scheme", "http"),
                                             field(":path", request.path), field(":authority", authority_),
                                             field("te", "trailers"), field("content-type", "application/grpc"),
                                             field("user-agent", "ridge/" RIDGE_VERSION)}};
    nghttp2_data_provider body{};
    body.read_callback = read_body;
    stream_ = nghttp2_submit_request(session_, nullptr, head.data(), head.size(), &body, nullptr);
  }

  // nghttp2 gives frame by frame; few large calls of the system are cheaper.
  std::string_view unsent() override {
    if (!unsent_.empty() || session_ == nullptr) return unsent_;
    output_.clear();
    while (output_.size() < kMostAtOnce) {
      const uint8_t* frame = nullptr;
      const ssize_t size = nghttp2_session_mem_send(session_, &frame);
      if (size <= 0) break;
      output_.append(reinterpret_cast<const char*>(frame), static_cast<size_t>(size));
    }
    return unsent_ = output_;
  }
  void sent(size_t count) override { unsent_.remove_prefix(count); }

  Event feed(std::string_view received) override {
    const ssize_t taken =
        nghttp2_session_mem_recv(session_, reinterpret_cast<const uint8_t*>(received.data()), received.size());
    unsent();  // the answer to what is no HTTP/2 is the end of the connection
    const bool ends = taken < 0 || goes_away_ || broken_;
    if (in_flight_ && done_) {
      in_flight_ = false;
      conclude();
      response_.keep_alive = !ends;
      return Event::kDone;
    }
    if (!in_flight_) return ends ? Event::kBad : Event::kNeedMore;
    return taken < 0 || broken_ || stream_ < 0 ? Event::kBad : Event::kNeedMore;  // stream_: nghttp2 had none left
  }

  Event end() override { return Event::kBad; }

  bool answering() const override { return answering_; }
  const Response& response() const override { return response_; }
  Failure bad() const override { return kNotGrpc; }
  std::string_view bad_text() const override { return "the answer is not HTTP/2, which gRPC is carried by"; }

 private:
  static GrpcWire& self(void* user) { return *static_cast<GrpcWire*>(user); }

  static ssize_t read_body(nghttp2_session*, int32_t, uint8_t* to, size_t most, uint32_t* flags, nghttp2_data_source*,
                           void* user) {
    std::string_view& left = self(user).left_;
    const size_t count = std::min(most, left.size());
    std::memcpy(to, left.data(), count);
    left.remove_prefix(count);
    if (left.empty()) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(count);
  }

  static int on_header(nghttp2_session*, const nghttp2_frame* frame, const uint8_t* name, size_t name_size,
                       const uint8_t* value, size_t value_size, uint8_t, void* user) {
    if (frame->hd.stream_id != self(user).stream_) return 0;
    self(user).take_field({reinterpret_cast<const char*>(name), name_size},
                          {reinterpret_cast<const char*>(value), value_size});
    return 0;
  }

  static int on_data(nghttp2_session*, uint8_t, int32_t stream, const uint8_t* data, size_t size, void* user) {
    if (stream == self(user).stream_) self(user).take_data({reinterpret_cast<const char*>(data), size});
    return 0;
  }

  static int on_frame(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    if (frame->hd.type == NGHTTP2_GOAWAY) self(user).goes_away_ = true;
    return 0;
  }

  // The stream ends by this, although the server may end it, or the connection, before the reset is sent.
  static int on_invalid(nghttp2_session*, const nghttp2_frame* frame, int, void* user) {
    if (frame->hd.stream_id == self(user).stream_) self(user).invalid_ = true;
    return 0;
  }

  static int on_sent(nghttp2_session*, const nghttp2_frame* frame, void* user) {
    if (frame->hd.type == NGHTTP2_GOAWAY) self(user).broken_ = true;
    return 0;
  }

  static int on_close(nghttp2_session*, int32_t stream, uint32_t error, void* user) {
    GrpcWire& wire = self(user);
    if (stream != wire.stream_) return 0;
    wire.done_ = true;
    wire.error_ = wire.invalid_ ? uint32_t{NGHTTP2_PROTOCOL_ERROR} : error;
    wire.left_ = {};
    return 0;
  }

  void take_field(std::string_view name, std::string_view value) {
    answering_ = true;
    if (name == ":status") response_.status = number(value).value_or(0);
    if (name == "grpc-status") grpc_status_ = number(value).value_or(2);  // 2: UNKNOWN
    if (name == "grpc-message") message_ = percent_decoded(value).value_or(std::string(value)).substr(0, kMostText);
  }

  // HTTP status 200 brings a message behind its prefix, any other status a text.
  void take_data(std::string_view data) {
    if (response_.status != 200) return keep(data, keep_.other);
    while (prefix_size_ < kPrefix && !data.empty()) {
      const auto byte = static_cast<uint8_t>(data.front());
      if (prefix_size_ == 0)
        compressed_ = byte != 0;
      else
        length_ = length_ << 8 | byte;
      ++prefix_size_;
      data.remove_prefix(1);
    }
    keep(data, keep_.ok);
  }

  void keep(std::string_view data, size_t most) {
    response_.body.append(data.substr(0, most - std::min(most, response_.body.size())));
    response_.body_size += data.size();
  }

  void conclude() {
    if (response_.status != 200 && response_.status != 0) return;  // of HTTP: a proxy's
    if (grpc_status_.value_or(0) != 0) return fail(kGrpcStatus + *grpc_status_, message_);
    if (!grpc_status_ && error_ != NGHTTP2_NO_ERROR)
      return fail(status_of_reset(error_), fmt::format("the call was reset: {}", nghttp2_http2_strerror(error_)));
    if (!grpc_status_) return fail(kGrpcStatus + 2, "the answer has no grpc-status");
    if (compressed_) return fail(kGrpcStatus + 13, "the answer is compressed, which was not asked for");
    if (prefix_size_ < kPrefix || response_.body_size != length_)
      return fail(kGrpcStatus + 13, "the answer's message is not as long as it says");
  }

  void fail(int status, std::string text) {
    response_.status = status;
    response_.body_size = text.size();
    response_.body = std::move(text);
  }

  const std::string authority_;
  const BodyLimits keep_;
  nghttp2_session* session_ = nullptr;
  std::string output_;       // frames
  std::string_view unsent_;  // of it
  std::string_view left_;    // of the request's bytes, not yet in frames
  int32_t stream_ = 0;       // negative: nghttp2 refused one
  uint32_t error_ = 0;       // that ended it
  bool in_flight_ = false, answering_ = false, done_ = false;
  bool invalid_ = false;    // a frame of the stream was not HTTP/2
  bool goes_away_ = false;  // the server ends the connection after the calls in flight
  bool broken_ = false;     // nghttp2 ends it, at what is not HTTP/2
  size_t prefix_size_ = 0;  // [bytes] of the prefix that have come
  size_t length_ = 0;       // [bytes] of the message, as it says
  bool compressed_ = false;
  std::optional<int> grpc_status_;
  std::string message_;
  Response response_;
};

}  // namespace

std::string grpc_message(std::string_view message) {
  std::string framed(kPrefix, '\0');
  for (size_t i = 1; i < kPrefix; ++i) framed[i] = static_cast<char>(message.size() >> 8 * (kPrefix - 1 - i));
  return framed.append(message);
}

std::unique_ptr<Wire> grpc_wire(std::string authority, const BodyLimits& keep) {
  return std::make_unique<GrpcWire>(std::move(authority), keep);
}

}  // namespace ridge::client
