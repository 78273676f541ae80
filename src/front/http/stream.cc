#include "front/http/stream.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <cstring>
#include <new>

namespace ridge::front::http {
namespace {

constexpr size_t kReadAtOnce = 256 * 1024;  // [bytes]; then other connections have their turn

bool is_loopback(const boost::asio::ip::address& address) {
  if (address.is_v6() && address.to_v6().is_v4_mapped())
    return boost::asio::ip::make_address_v4(boost::asio::ip::v4_mapped, address.to_v6()).is_loopback();
  return address.is_loopback();
}

// The remaining pieces in Asio's form, without a copy of the vector.
struct Rest {
  using value_type = boost::asio::const_buffer;
  using const_iterator = const boost::asio::const_buffer*;
  const_iterator from, to;
  const_iterator begin() const { return from; }
  const_iterator end() const { return to; }
};

}  // namespace

boost::asio::ip::address address_of(const Stream::Socket& socket) {
  boost::system::error_code gone;  // then the connection ends at its first read
  const auto peer = socket.remote_endpoint(gone);
  const int family = peer.protocol().family();
  if (gone || (family != AF_INET && family != AF_INET6)) return {};
  boost::asio::ip::tcp::endpoint endpoint;
  std::memcpy(endpoint.data(), peer.data(), std::min(peer.size(), endpoint.capacity()));
  return endpoint.address();
}

size_t Pieces::write_to(Stream& stream, Stream::ErrorCode& ec) {
  const size_t sent = stream.write_some(Rest{pieces.data() + next, pieces.data() + pieces.size()}, ec);
  for (size_t count = ec ? 0 : sent; count > 0;) {
    const size_t taken = std::min(count, pieces[next].size());
    pieces[next] += taken;
    count -= taken;
    if (pieces[next].size() == 0) ++next;
  }
  return ec ? 0 : sent;
}

void Stream::Free::operator()(ssl_st* session) const { SSL_free(session); }

Stream::Stream(Socket socket, ssl_ctx_st* tls, std::string_view protocols)
    : socket_(std::move(socket)), protocols_(protocols) {
  ErrorCode ec;
  socket_.set_option(boost::asio::ip::tcp::no_delay(true), ec);
  socket_.non_blocking(true, ec);
  const bool is_unix = socket_.local_endpoint(ec).protocol().family() == AF_UNIX;
  const boost::asio::ip::address address = address_of(socket_);
  from_this_machine_ = is_unix || is_loopback(address);
  client_address_ = is_unix ? "unix" : address.to_string();
  if (tls == nullptr) return;
  session_.reset(SSL_new(tls));
  if (session_ == nullptr) throw std::bad_alloc();
  SSL_set_fd(session_.get(), socket_.native_handle());
  SSL_set_accept_state(session_.get());
  SSL_set_app_data(session_.get(), const_cast<char*>(protocols_.data()));  // choose_protocol() of tls.cc
}

bool Stream::handshaking() const { return session_ != nullptr && SSL_is_init_finished(session_.get()) == 0; }

// Translates OpenSSL's answer; would_block: it goes on when the socket is ready.
Stream::ErrorCode Stream::error_of(int returned) {
  const int kind = SSL_get_error(session_.get(), returned);
  if (kind == SSL_ERROR_WANT_READ || kind == SSL_ERROR_WANT_WRITE) {
    read_wants_write_ = kind == SSL_ERROR_WANT_WRITE;
    return boost::asio::error::would_block;
  }
  if (kind == SSL_ERROR_ZERO_RETURN) return boost::asio::error::eof;
  failed_ = true;  // no more may be asked of the session, not even to close it
  const auto error = ERR_peek_last_error();
  if (handshaking() && ERR_GET_LIB(error) == ERR_LIB_SSL &&
      ERR_GET_REASON(error) != SSL_R_UNEXPECTED_EOF_WHILE_READING) {
    plain_http_ = ERR_GET_REASON(error) == SSL_R_HTTP_REQUEST;
    const char* reason = ERR_reason_error_string(error);
    problem_ = reason != nullptr ? reason : "no reason given";
  }
  ERR_clear_error();
  return boost::asio::error::connection_reset;
}

size_t Stream::read_now(boost::asio::mutable_buffer to, ErrorCode& ec) {
  const size_t most = std::min(to.size(), kReadAtOnce);
  size_t count = 0;
  while (count < most) {
    size_t got = 0;
    ERR_clear_error();
    const int returned = SSL_read_ex(session_.get(), static_cast<char*>(to.data()) + count, most - count, &got);
    if (returned != 1) {
      ec = error_of(returned);
      break;
    }
    count += got;
  }
  if (count > 0) ec = {};  // an error comes again
  return count;
}

void Stream::start_read(boost::asio::mutable_buffer to, ReadDone done) {
  ErrorCode ec;
  const size_t count = read_now(to, ec);
  if (ec == boost::asio::error::would_block) return wait_and_read(to, std::move(done));
  boost::asio::post(socket_.get_executor(), [done = std::move(done), ec, count] { done(ec, count); });
}

void Stream::wait_and_read(boost::asio::mutable_buffer to, ReadDone done) {
  socket_.async_wait(read_wants_write_ ? Socket::wait_write : Socket::wait_read,
                     [this, to, done = std::move(done)](const ErrorCode& failed) mutable {
                       if (failed || !socket_.is_open()) return done(boost::asio::error::operation_aborted, 0);
                       ErrorCode ec;
                       const size_t count = read_now(to, ec);
                       if (ec == boost::asio::error::would_block) return wait_and_read(to, std::move(done));
                       done(ec, count);
                     });
}

void Stream::flush(ErrorCode& ec) {
  ec = failed_ ? ErrorCode(boost::asio::error::connection_reset) : ErrorCode();
  if (staged_.empty() || failed_) return;
  size_t sent = 0;  // all or nothing: partial writes are not on
  ERR_clear_error();
  const bool waits_to_write = read_wants_write_;
  const int returned = SSL_write_ex(session_.get(), staged_.data(), staged_.size(), &sent);
  if (returned == 1)
    staged_ = {};
  else
    ec = error_of(returned);
  read_wants_write_ = waits_to_write;
}

void Stream::shutdown_send(ErrorCode& ec) {
  if (session_ != nullptr && !failed_ && !handshaking()) {
    ERR_clear_error();
    SSL_shutdown(session_.get());
    ERR_clear_error();
  }
  socket_.shutdown(Socket::shutdown_send, ec);
}

void Stream::close() {
  ErrorCode ignored;
  if (session_ != nullptr) shutdown_send(ignored);
  socket_.close(ignored);
}

bool Stream::fall_back_to_plain() {
  if (!plain_http_) return false;
  session_.reset();
  return true;
}

}  // namespace ridge::front::http
