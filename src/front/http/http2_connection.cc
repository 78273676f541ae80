#include "front/http/http2_connection.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <utility>

namespace ridge::front::http {
namespace {

namespace asio = boost::asio;

constexpr size_t kMostAtOnce = 256 * 1024;  // [bytes] of frames that are made for one write
constexpr size_t kMostFrames = 256;         // that wait for a client that does not read; then nothing is read from it
// Between the news that a connection ends and its end: streams that are under way by then arrive.
constexpr std::chrono::milliseconds kFarewell{250};
constexpr char kTlsHandshake = 0x16;  // first byte of a TLS handshake

}  // namespace

std::shared_ptr<Connection> StreamPort::connect(IoThread& thread, Stream stream, uint64_t id) {
  return std::make_shared<Http2Connection>(thread, *this, std::move(stream), id);
}

// SETTINGS, and GOAWAY with ENHANCE_YOUR_CALM.
std::string StreamPort::no_room() const {
  using namespace std::string_literals;
  return "\0\0\0\x04\0\0\0\0\0"s + "\0\0\x08\x07\0\0\0\0\0\0\0\0\0\0\0\0\x0b"s;
}

Http2Connection::Http2Connection(IoThread& thread, StreamPort& port, Stream stream, uint64_t id)
    : thread_(thread),
      options_(port.stream_options),
      stream_(std::move(stream)),
      id_(id),
      session_(
          options_.limits, [this, &port](int32_t number) { return port.open(*this, number); },
          [this] {
            if (!std::exchange(flush_asked_, true)) thread_.flush_soon(id_);
          }),
      began_(thread.now()),
      received_(began_),
      busy_(began_),
      head_began_(TimePoint::max()) {}

void Http2Connection::start() {
  if (stream_.is_tls()) phase_ = Phase::kHandshake;
  read();
}

void Http2Connection::close() {
  if (std::exchange(phase_, Phase::kClosed) == Phase::kClosed) return;
  session_.close_streams();
  stream_.close();
  thread_.forget(id_);
}

// ---- reading

void Http2Connection::read() {
  if (reads_ || phase_ == Phase::kClosed || (writes_ && session_.waiting_frames() > kMostFrames)) return;
  reads_ = true;
  stream_.async_wait_read([self = shared_from_this()](const ErrorCode& failed) {
    IoThread::guarded(*self, [&] { self->on_readable(failed); });
  });
}

void Http2Connection::on_readable(const ErrorCode& failed) {
  reads_ = false;
  if (phase_ == Phase::kClosed) return;
  ErrorCode ec = failed;
  const std::span<std::byte> room = thread_.scratch();
  const size_t count = ec ? 0 : stream_.read_some(asio::buffer(room.data(), room.size()), ec);
  if (ec == asio::error::would_block || ec == asio::error::try_again) return read();
  if (ec) {
    if (phase_ == Phase::kHandshake) thread_.warnings().failed_handshake(stream_.handshake_problem());
    close();
    return thread_.run_completions();
  }
  received_ = thread_.now();
  pinged_ = TimePoint::max();
  if (phase_ == Phase::kHandshake) phase_ = Phase::kIdle;
  if (phase_ == Phase::kIdle && !receive(room.first(count))) close();
  thread_.run_completions();
  if (count < room.size()) return read();
  reads_ = true;
  asio::post(thread_.context(),
             [self = shared_from_this()] { IoThread::guarded(*self, [&] { self->on_readable({}); }); });
}

// False: the connection ends.
bool Http2Connection::receive(std::span<const std::byte> bytes) {
  const bool greeted = session_.greeted();
  if (!session_.receive(bytes)) {
    if (!greeted && static_cast<char>(bytes[0]) == kTlsHandshake) thread_.warnings().tls_at_plain_port();
    if (greeted) write();  // says why
    return false;
  }
  if (!session_.in_head())
    head_began_ = TimePoint::max();
  else if (head_began_ == TimePoint::max())
    head_began_ = received_;
  return true;
}

// ---- writing

void Http2Connection::flush() {
  flush_asked_ = false;
  if (phase_ != Phase::kIdle || writes_ || !write()) return;
  if (session_.over()) return linger();
  read();
}

// False: the rest is written later, or the connection has been closed.
bool Http2Connection::write() {
  while (true) {
    while (!pieces_.all_sent() || stream_.has_unsent()) {
      ErrorCode ec;
      written_.moved += pieces_.write_to(stream_, ec);
      if (ec == asio::error::would_block || ec == asio::error::try_again) {
        writes_ = true;
        stream_.socket().async_wait(Stream::Socket::wait_write, [self = shared_from_this()](const ErrorCode& failed) {
          self->writes_ = false;
          if (failed) self->close();
          IoThread::guarded(*self, [&] { self->flush(); });
          self->thread_.run_completions();
        });
        return false;
      }
      if (ec) {
        close();
        return false;
      }
      written_.last_moved = thread_.now();
    }
    output_.clear();
    pieces_.clear();
    session_.report_sent();
    session_.produce(output_, kMostAtOnce);
    if (output_.empty()) return true;
    output_.for_each([this](const void* data, size_t size) { pieces_.add(data, size); });
    written_ = {.began = thread_.now(), .last_moved = {}, .moved = 0};
  }
}

// Closing with unread bytes in the socket would reset the connection, and the client might not see what was sent.
void Http2Connection::linger() {
  phase_ = Phase::kLingering;
  written_ = {.began = thread_.now(), .last_moved = {}, .moved = 0};
  session_.close_streams();
  ErrorCode ec;
  stream_.shutdown_send(ec);
  if (ec) return close();
  read();
}

// ---- deadlines

void Http2Connection::begin_drain() {
  if (phase_ == Phase::kLingering) return close();
  announce_end();
  session_.for_each([](StreamHandler& handler) { handler.begin_drain(); });
}

void Http2Connection::announce_end() {
  if (phase_ == Phase::kLingering || announced_ != TimePoint::max()) return;
  announced_ = thread_.now();
  session_.announce_end();
}

void Http2Connection::enforce_deadline(TimePoint now) {
  const auto self = shared_from_this();
  if (is_late(now)) return close();
  if (phase_ != Phase::kIdle) return;
  keep_alive(now);
  session_.for_each([&](StreamHandler& handler) { handler.tick(now); });
  if (announced_ == TimePoint::max() || ended_ || now - announced_ < kFarewell) return;
  ended_ = true;
  session_.end();
}

bool Http2Connection::is_late(TimePoint now) {
  const ServerOptions& options = thread_.options();
  const TimePoint drain = thread_.drain_began();
  if (phase_ == Phase::kLingering) return now >= deadline_of(phase_, written_, options, drain);
  if (!session_.greeted()) {
    const bool drained = thread_.draining() && now - drain >= kFarewell;
    return drained || now >= began_ + options.head_timeout;
  }
  if (head_began_ != TimePoint::max() && now >= head_began_ + options.head_timeout) return true;
  if (writes_ && now >= deadline_of(Phase::kWriting, written_, options, drain)) return true;
  if (pinged_ != TimePoint::max() && now >= pinged_ + options_.keepalive_timeout) return true;
  return options_.connection_age.count() > 0 && options_.connection_age_grace.count() > 0 &&
         now >= began_ + options_.connection_age + options_.connection_age_grace;
}

void Http2Connection::keep_alive(TimePoint now) {
  if (session_.streams() > 0) busy_ = now;
  const bool aged = options_.connection_age.count() > 0 && now >= began_ + options_.connection_age;
  if (aged || now >= busy_ + thread_.options().idle_timeout) announce_end();
  if (pinged_ != TimePoint::max() || now < received_ + options_.keepalive_time) return;
  pinged_ = now;
  session_.ping();
}

}  // namespace ridge::front::http
