// Stream: the bytes of one connection, plain or by TLS. Included by the server's own sources only.
//
// Plain it is the socket itself, behind one branch. With TLS the handshake is part of the first read: its answer is the
// first byte of a request. OpenSSL writes to the socket itself, so SIGPIPE must be ignored.
// One thread.
#pragma once

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ip/address.hpp>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

struct ssl_ctx_st;  // OpenSSL's SSL_CTX
struct ssl_st;      // and SSL

namespace ridge::front::http {

class Stream {
 public:
  using ErrorCode = boost::system::error_code;
  using Socket = boost::asio::generic::stream_protocol::socket;  // of IP or of a path

  // `tls`: null = plain; it may end before the stream. `protocols`: those that a client of TLS may choose, in the form
  // of ALPN; of static storage.
  Stream(Socket socket, ssl_ctx_st* tls, std::string_view protocols);

  Socket& socket() { return socket_; }
  const std::string& client_address() const { return client_address_; }  // "unix" of a path
  bool from_this_machine() const { return from_this_machine_; }
  bool is_tls() const { return session_ != nullptr; }
  bool handshaking() const;

  // `done` (error, count) is not called from within. It keeps the stream alive.
  template <typename Done>
  void async_read_some(boost::asio::mutable_buffer to, Done done) {
    if (session_ == nullptr) return socket_.async_read_some(to, std::move(done));
    start_read(to, std::move(done));
  }
  // `done` (error) when read_some() may have something.
  template <typename Done>
  void async_wait_read(Done done) {
    socket_.async_wait(read_wants_write_ ? Socket::wait_write : Socket::wait_read, std::move(done));
  }
  // Does not wait.
  size_t read_some(boost::asio::mutable_buffer to, ErrorCode& ec) {
    return session_ == nullptr ? socket_.read_some(to, ec) : read_now(to, ec);
  }
  // Does not wait. What it has taken may be unsent, and is sent by the next call: until has_unsent() is false.
  template <typename Buffers>
  size_t write_some(const Buffers& buffers, ErrorCode& ec) {
    if (session_ == nullptr) return socket_.write_some(buffers, ec);
    if (flush(ec); ec) return 0;
    for (auto buffer = boost::asio::buffer_sequence_begin(buffers), end = boost::asio::buffer_sequence_end(buffers);
         buffer != end && staged_.size() < kRecord; ++buffer) {
      const boost::asio::const_buffer part(*buffer);
      staged_.append(static_cast<const char*>(part.data()), std::min(part.size(), kRecord - staged_.size()));
    }
    const size_t taken = staged_.size();
    flush(ec);
    if (taken > 0 && ec == boost::asio::error::would_block) ec = {};
    return taken;
  }
  bool has_unsent() const { return !staged_.empty(); }
  void shutdown_send(ErrorCode& ec);
  void close();

  // After a failed read: true if the client speaks plain HTTP to TLS. The stream is plain then, its input lost.
  bool fall_back_to_plain();
  // Why the handshake failed; empty: it did not, or the client just left.
  const std::string& handshake_problem() const { return problem_; }

 private:
  using ReadDone = std::function<void(const ErrorCode&, size_t)>;
  struct Free {
    void operator()(ssl_st* session) const;
  };
  static constexpr size_t kRecord = 16 * 1024;  // [bytes], the largest of TLS

  void start_read(boost::asio::mutable_buffer to, ReadDone done);
  void wait_and_read(boost::asio::mutable_buffer to, ReadDone done);
  size_t read_now(boost::asio::mutable_buffer to, ErrorCode& ec);
  void flush(ErrorCode& ec);
  ErrorCode error_of(int returned);

  Socket socket_;
  std::unique_ptr<ssl_st, Free> session_;  // null: plain
  std::string_view protocols_;
  std::string client_address_;
  bool from_this_machine_ = false;
  std::string staged_;  // plain text that OpenSSL has not sent wholly
  std::string problem_;
  bool read_wants_write_ = false, failed_ = false, plain_http_ = false;
};

// The client's address, which a client by a Unix socket has not: then it is 0.0.0.0.
boost::asio::ip::address address_of(const Stream::Socket& socket);

// Pieces to write next; others own them.
struct Pieces {
  std::vector<boost::asio::const_buffer> pieces = {};
  size_t next = 0;

  void clear() {
    pieces.clear();
    next = 0;
  }
  void add(const void* data, size_t size) {
    if (size > 0) pieces.emplace_back(data, size);
  }
  bool all_sent() const { return next == pieces.size(); }
  // Writes until the stream takes no more [bytes].
  size_t write_to(Stream& stream, Stream::ErrorCode& ec);
};

}  // namespace ridge::front::http
