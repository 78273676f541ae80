#include "front/http/stream.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <boost/asio/post.hpp>
#include <new>

namespace ridge::front::http {
namespace {

constexpr size_t kReadAtOnce = 256 * 1024;  // [bytes]; then other connections have their turn

}  // namespace

void Stream::Free::operator()(ssl_st* session) const { SSL_free(session); }

Stream::Stream(Socket socket, ssl_ctx_st* tls) : socket_(std::move(socket)) {
  if (tls == nullptr) return;
  session_.reset(SSL_new(tls));
  if (session_ == nullptr) throw std::bad_alloc();
  SSL_set_fd(session_.get(), socket_.native_handle());
  SSL_set_accept_state(session_.get());
}

bool Stream::handshaking() const { return session_ != nullptr && SSL_is_init_finished(session_.get()) == 0; }

// What OpenSSL's answer means; would_block: it goes on when the socket is ready.
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
