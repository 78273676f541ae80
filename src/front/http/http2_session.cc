#include "front/http/http2_session.h"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <array>
#include <new>

namespace ridge::front::http {
namespace {

constexpr int32_t kConnectionWindow =
    16 << 20;  // [bytes] of all streams; what they hold is bounded by the memory for bodies
constexpr size_t kUsualFrame = 16 * 1024, kLongestFrame = 256 * 1024;  // [bytes] of data that are sent
constexpr size_t kCopied = 4096;                // [bytes]; below it copying costs less than a piece of its own
constexpr uint64_t kFieldOverhead = 32;         // [bytes] of a field beside its texts (6.5.2)
constexpr uint64_t kGrossHead = 16;             // times the limit: no mistake any more, the connection ends
constexpr uint64_t kInvalidFrames = 100;        // of a connection, each of which resets a stream at our cost
constexpr size_t kMostAcknowledgements = 1000;  // of SETTINGS and PING that wait for a client which does not read

std::string_view text_of(const uint8_t* data, size_t size) { return {reinterpret_cast<const char*>(data), size}; }

nghttp2_nv pair_of(std::string_view name, std::string_view value) {
  const auto bytes = [](std::string_view text) { return reinterpret_cast<uint8_t*>(const_cast<char*>(text.data())); };
  return {bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
}

template <typename Fields>
std::vector<nghttp2_nv> pairs_of(const Fields& fields) {
  std::vector<nghttp2_nv> pairs;
  for (const auto& [name, value] : fields) pairs.push_back(pair_of(name, value));
  return pairs;
}

}  // namespace

void Http2Output::append(std::string_view bytes) {
  if (bytes.empty()) return;
  if (pieces_.empty() || pieces_.back().data != nullptr) pieces_.push_back({nullptr, text_.size(), 0, nullptr});
  text_ += bytes;
  pieces_.back().size += bytes.size();  // last: without memory nothing is claimed that is not there
  size_ += bytes.size();
}

void Http2Output::refer(std::span<const std::byte> bytes, const std::shared_ptr<const void>& owner) {
  pieces_.push_back({bytes.data(), 0, bytes.size(), owner});
  size_ += bytes.size();
}

void Http2Output::clear() {
  text_.clear();
  pieces_.clear();
  size_ = 0;
}

struct Http2Session::Callbacks {
  static Http2Session& self(void* user) { return *static_cast<Http2Session*>(user); }
  static Stream* stream_of(nghttp2_session* session, int32_t number) {
    return static_cast<Stream*>(nghttp2_session_get_stream_user_data(session, number));
  }

  // Runs a handler's work; if that is out of memory, its stream is given up.
  template <typename Work>
  static int guarded(nghttp2_session* session, int32_t number, Work work) {
    try {
      work();
    } catch (const std::bad_alloc&) {
      nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, number, NGHTTP2_INTERNAL_ERROR);
    }
    return 0;
  }

  static int begin_fields(nghttp2_session* session, const nghttp2_frame* frame, void* user) {
    Http2Session& own = self(user);
    own.in_head_ = true;
    if (frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
    const int32_t number = frame->hd.stream_id;
    try {
      Stream& stream = own.streams_[number];
      stream.handler = own.open_(number);
      nghttp2_session_set_stream_user_data(session, number, &stream);
    } catch (const std::bad_alloc&) {
      own.streams_.erase(number);
      return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
    }
    return 0;
  }

  static int field(nghttp2_session* session, const nghttp2_frame* frame, const uint8_t* name, size_t name_size,
                   const uint8_t* value, size_t value_size, uint8_t, void* user) {
    Http2Session& own = self(user);
    Stream* stream = stream_of(session, frame->hd.stream_id);
    if (stream == nullptr) return 0;
    stream->head_bytes += name_size + value_size + kFieldOverhead;
    if (stream->head_bytes > own.limits_.fields * kGrossHead) return NGHTTP2_ERR_CALLBACK_FAILURE;
    if (stream->head_bytes > own.limits_.fields || frame->headers.cat != NGHTTP2_HCAT_REQUEST) return 0;
    return guarded(session, frame->hd.stream_id,
                   [&] { stream->handler->take_field(text_of(name, name_size), text_of(value, value_size)); });
  }

  static int frame_received(nghttp2_session* session, const nghttp2_frame* frame, void* user) {
    Http2Session& own = self(user);
    own.greeted_ = true;
    const bool is_head = frame->hd.type == NGHTTP2_HEADERS;
    if (is_head) own.in_head_ = false;
    if (!is_head && frame->hd.type != NGHTTP2_DATA) return 0;
    Stream* stream = stream_of(session, frame->hd.stream_id);
    if (stream == nullptr) return 0;
    return guarded(session, frame->hd.stream_id, [&] {
      const bool too_large = stream->head_bytes > own.limits_.fields;
      if (is_head && too_large) return stream->handler->refuse_head();
      if (is_head && frame->headers.cat == NGHTTP2_HCAT_REQUEST) stream->handler->begin();
      if ((frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0) stream->handler->end_body();
    });
  }

  static int data(nghttp2_session* session, uint8_t, int32_t number, const uint8_t* bytes, size_t size, void*) {
    nghttp2_session_consume_connection(session, size);
    Stream* stream = stream_of(session, number);
    if (stream == nullptr) return 0;
    return guarded(session, number, [&] { stream->handler->take_body(std::as_bytes(std::span(bytes, size))); });
  }

  static int invalid_frame(nghttp2_session*, const nghttp2_frame*, int, void* user) {
    if (++self(user).invalid_frames_ > kInvalidFrames) self(user).give_up();
    return 0;
  }

  static int frame_sent(nghttp2_session* session, const nghttp2_frame* frame, void*) {
    const bool ends = frame->hd.type == NGHTTP2_HEADERS && (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    if (!ends) return 0;
    if (Stream* stream = stream_of(session, frame->hd.stream_id)) stream->ended = true;
    // The client need not send the rest (8.1).
    if (nghttp2_session_get_stream_remote_close(session, frame->hd.stream_id) == 0)
      nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, frame->hd.stream_id, NGHTTP2_NO_ERROR);
    return 0;
  }

  static int closed(nghttp2_session*, int32_t number, uint32_t, void* user) {
    Http2Session& own = self(user);
    const auto row = own.streams_.find(number);
    if (row == own.streams_.end()) return 0;
    const std::shared_ptr<StreamHandler> handler = std::move(row->second.handler);
    const bool whole = row->second.ended;
    own.streams_.erase(row);
    if (handler) handler->closed(whole);  // throws nothing
    return 0;
  }

  // Long data in long frames.
  static ssize_t most_of_frame(nghttp2_session* session, uint8_t, int32_t number, int32_t connection_window,
                               int32_t stream_window, uint32_t clients_most, void*) {
    const Stream* stream = stream_of(session, number);
    const size_t wanted = std::clamp(stream == nullptr ? 0 : stream->unsent, kUsualFrame, kLongestFrame);
    const auto window = static_cast<size_t>(std::max(1, std::min(connection_window, stream_window)));
    return static_cast<ssize_t>(std::min({wanted, window, size_t{clients_most}}));
  }

  // How much of the stream's data the next frame holds.
  static ssize_t read(nghttp2_session* session, int32_t number, uint8_t*, size_t most, uint32_t* flags,
                      nghttp2_data_source* source, void*) {
    Stream& stream = *static_cast<Stream*>(source->ptr);
    const size_t count = std::min(most, stream.unsent);
    if (count == 0 && !stream.finishes) {
      stream.waits = true;
      return NGHTTP2_ERR_DEFERRED;
    }
    if (count > 0) *flags |= NGHTTP2_DATA_FLAG_NO_COPY;
    if (count < stream.unsent || !stream.finishes) return static_cast<ssize_t>(count);
    *flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
    try {
      const std::vector<nghttp2_nv> trailers = pairs_of(stream.trailers);
      if (nghttp2_submit_trailer(session, number, trailers.data(), trailers.size()) == 0)
        return static_cast<ssize_t>(count);
    } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): the stream is reset
    }
    return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
  }

  static int send_data(nghttp2_session*, nghttp2_frame* frame, const uint8_t* head, size_t count,
                       nghttp2_data_source* source, void* user) try {
    Http2Session& own = self(user);
    if (own.output_->size() >= own.most_) return NGHTTP2_ERR_WOULDBLOCK;
    Stream& stream = *static_cast<Stream*>(source->ptr);
    own.output_->append(text_of(head, 9));
    own.take_data(stream, count);
    if (stream.unsent == 0) own.all_sent_.push_back(frame->hd.stream_id);
    return 0;
  } catch (const std::bad_alloc&) {
    return NGHTTP2_ERR_CALLBACK_FAILURE;  // the connection ends
  }
};

Http2Session::Http2Session(const Http2Limits& limits, Open open, std::function<void()> wants_send)
    : limits_(limits), open_(std::move(open)), wants_send_(std::move(wants_send)) {
  nghttp2_session_callbacks* callbacks = nullptr;
  nghttp2_option* options = nullptr;
  if (nghttp2_session_callbacks_new(&callbacks) != 0 || nghttp2_option_new(&options) != 0) throw std::bad_alloc();
  nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, Callbacks::begin_fields);
  nghttp2_session_callbacks_set_on_header_callback(callbacks, Callbacks::field);
  nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, Callbacks::frame_received);
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, Callbacks::data);
  nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks, Callbacks::invalid_frame);
  nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, Callbacks::frame_sent);
  nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, Callbacks::closed);
  nghttp2_session_callbacks_set_send_data_callback(callbacks, Callbacks::send_data);
  nghttp2_session_callbacks_set_data_source_read_length_callback(callbacks, Callbacks::most_of_frame);
  nghttp2_option_set_no_auto_window_update(options, 1);
  nghttp2_option_set_no_closed_streams(options, 1);
  nghttp2_option_set_max_outbound_ack(options, kMostAcknowledgements);
  nghttp2_option_set_stream_reset_rate_limit(options, limits_.resets, limits_.resets_per_second);
  const int made = nghttp2_session_server_new2(&session_, callbacks, this, options);
  nghttp2_session_callbacks_del(callbacks);
  nghttp2_option_del(options);
  if (made != 0) throw std::bad_alloc();
  const std::array<nghttp2_settings_entry, 4> settings = {{{NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits_.streams},
                                                           {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, limits_.window},
                                                           {NGHTTP2_SETTINGS_MAX_FRAME_SIZE, limits_.frame},
                                                           {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, limits_.fields}}};
  nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, settings.data(), settings.size());
  nghttp2_session_set_local_window_size(session_, NGHTTP2_FLAG_NONE, 0, kConnectionWindow);
}

Http2Session::~Http2Session() { nghttp2_session_del(session_); }

bool Http2Session::receive(std::span<const std::byte> bytes) {
  if (given_up_ || broken_) return false;
  const ssize_t taken =
      nghttp2_session_mem_recv(session_, reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  broken_ = taken < 0;
  wants_send_();
  return !broken_ && !given_up_;
}

void Http2Session::produce(Http2Output& output, size_t most) {
  output_ = &output;
  most_ = most;
  while (!broken_ && output.size() < most) {
    const uint8_t* frame = nullptr;
    const ssize_t size = nghttp2_session_mem_send(session_, &frame);
    broken_ = size < 0;
    if (size <= 0) break;
    output.append(text_of(frame, static_cast<size_t>(size)));
  }
  output_ = nullptr;
}

void Http2Session::take_data(Stream& stream, size_t count) {
  stream.sent += count;
  stream.unsent -= count;
  while (count > 0) {
    SentPart& part = stream.parts[stream.next];
    const bool in_text = stream.offset < part.text.size();
    const size_t from = in_text ? stream.offset : stream.offset - part.text.size();
    const size_t there = (in_text ? part.text.size() : part.bytes.size()) - from;
    const size_t taken = std::min(count, there);
    const std::span<const std::byte> data =
        (in_text ? std::as_bytes(std::span(part.text)) : part.bytes).subspan(from, taken);
    if (in_text || taken < kCopied)
      output_->append({reinterpret_cast<const char*>(data.data()), taken});
    else
      output_->refer(data, part.owner);
    count -= taken;
    stream.offset += taken;
    if (stream.offset < part.size()) continue;
    part = {};
    stream.offset = 0;
    ++stream.next;
  }
  if (stream.unsent > 0) return;
  stream.parts.clear();
  stream.next = 0;
}

void Http2Session::report_sent() {
  for (const int32_t number : std::exchange(all_sent_, {}))
    if (const auto row = streams_.find(number); row != streams_.end() && row->second.unsent == 0)
      row->second.handler->sent();
}

bool Http2Session::over() const {
  return broken_ || (nghttp2_session_want_read(session_) == 0 && nghttp2_session_want_write(session_) == 0);
}

size_t Http2Session::waiting_frames() const { return nghttp2_session_get_outbound_queue_size(session_); }

void Http2Session::close_streams() {
  for (auto& [number, stream] : std::exchange(streams_, {})) stream.handler->closed(stream.ended);
}

void Http2Session::give_up() {
  if (std::exchange(given_up_, true)) return;
  nghttp2_session_terminate_session(session_, NGHTTP2_ENHANCE_YOUR_CALM);
}

void Http2Session::announce_end() {
  nghttp2_submit_shutdown_notice(session_);
  wants_send_();
}

void Http2Session::end() {
  nghttp2_submit_goaway(session_, NGHTTP2_FLAG_NONE, nghttp2_session_get_last_proc_stream_id(session_),
                        NGHTTP2_NO_ERROR, nullptr, 0);
  wants_send_();
}

void Http2Session::ping() {
  nghttp2_submit_ping(session_, NGHTTP2_FLAG_NONE, nullptr);
  wants_send_();
}

void Http2Session::respond(int32_t number, std::span<const Field> fields, bool ends) {
  const std::vector<nghttp2_nv> pairs = pairs_of(fields);
  nghttp2_data_provider body{.source = {.ptr = &at(number)}, .read_callback = Callbacks::read};
  if (nghttp2_submit_response(session_, number, pairs.data(), pairs.size(), ends ? nullptr : &body) != 0) reset(number);
  wants_send_();
}

void Http2Session::resume(int32_t number, Stream& stream) {
  if (std::exchange(stream.waits, false)) nghttp2_session_resume_data(session_, number);
  wants_send_();
}

void Http2Session::send(int32_t number, std::vector<SentPart> parts) {
  Stream& stream = at(number);
  for (SentPart& part : parts) {
    const size_t size = part.size();
    if (size > 0) stream.parts.push_back(std::move(part));
    stream.unsent += size;
  }
  resume(number, stream);
}

void Http2Session::finish(int32_t number, std::span<const Field> trailers) {
  Stream& stream = at(number);
  for (const Field& field : trailers) stream.trailers.emplace_back(field.name, field.value);
  stream.finishes = true;
  resume(number, stream);
}

void Http2Session::reset(int32_t number) {
  nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, number, NGHTTP2_CANCEL);
  wants_send_();
}

void Http2Session::consumed(int32_t number, size_t bytes) {
  nghttp2_session_consume_stream(session_, number, bytes);
  wants_send_();
}

size_t Http2Session::unsent(int32_t number) const { return at(number).unsent; }
uint64_t Http2Session::sent_bytes(int32_t number) const { return at(number).sent; }

}  // namespace ridge::front::http
