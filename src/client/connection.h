// One connection that never blocks, and the poller that says when it can go on. Linux's epoll directly: a load sends at
// intended times to the microsecond, and every microsecond of its own is taken from a server on the same machine
// (docs/decisions/0015-client.md). One thread.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/result.h"
#include "client/wire.h"

namespace ridge::client {

// Addresses of one host; several are tried in order.
struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;
};
Result<std::vector<Address>> resolve(const std::string& host, uint16_t port);
std::string text_of(const Address& address);  // "127.0.0.1:8000"

class Poller {
 public:
  static Result<Poller> open();
  // Makes wait() name `tag` whenever something has changed for the descriptor, until it is closed.
  bool add(int descriptor, uint32_t tag);
  // The next wait() names `tag` again if there is more to read.
  void again(int descriptor, uint32_t tag);
  struct Change {
    uint32_t tag = 0;
    bool hung_up = false;  // the other end sends no more
  };
  // Waits until something has changed, but not beyond `until`. Valid until the next call.
  std::span<const Change> wait(TimePoint until);

 private:
  explicit Poller(Descriptor epoll) : epoll_(std::move(epoll)) {}
  int poll(int timeout_ms);

  Descriptor epoll_;
  std::vector<Change> changes_;
};

class Connection {
 public:
  enum class State { kIdle, kInFlight, kDone, kFailed };

  // `poller`, where the socket has `tag`, outlives it.
  Connection(Poller& poller, uint32_t tag, const Address& address, std::unique_ptr<Wire> wire);

  // Connects without a request: kDone once it is connected. Nothing to do where it is.
  State connect();
  // Not while a request is in flight. Connects first where it must. `request` outlives the exchange. `timed`: sent_at()
  // and answered_at() are of this exchange.
  State send(const Request& request, bool timed = false);
  // Something has changed for the socket.
  State advance(bool hung_up);
  void close();

  bool connected() const { return socket_ && !connecting_; }
  int64_t opened() const { return opened_; }                      // times that it was connected
  const Response& response() const { return wire_->response(); }  // after kDone
  int failure() const { return failure_; }  // after kFailed: kNoConnection, kClosed, or an invalid answer
  const std::string& problem() const { return problem_; }  // and why
  // Both ends have the same address.
  bool to_this_machine() const;

  // The request was given to the system; the first byte of the answer was there.
  TimePoint sent_at() const { return sent_at_; }
  TimePoint answered_at() const { return answered_at_; }

 private:
  State open();
  State fail(int failure, std::string problem);
  State go_on();
  State write();
  int push();  // what there is to send, as far as the system takes it; the error that ends the connection, or 0
  State read();
  State take(std::string_view received);

  Poller* poller_;
  uint32_t tag_;
  Address address_;
  Descriptor socket_;
  std::unique_ptr<Wire> wire_;
  bool connecting_ = false, in_flight_ = false, timed_ = false;
  int failure_ = kNone;
  std::string problem_;
  int64_t opened_ = 0;
  TimePoint sent_at_, answered_at_;
};

}  // namespace ridge::client
