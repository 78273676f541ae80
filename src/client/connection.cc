#include "client/connection.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

namespace ridge::client {
namespace {

constexpr size_t kMostEvents = 64;
constexpr size_t kChunk = 64 << 10;  // [bytes] read at once
constexpr int kMostChunks = 16;      // then the other connections, and the clock, have their turn
constexpr uint32_t kEvents = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;

std::string reason(int error) { return std::strerror(error); }

}  // namespace

// ------------------------------------------------------------------------------------------------------ addresses

Result<std::vector<Address>> resolve(const std::string& host, uint16_t port) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  if (const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &list); error != 0)
    return Error{Code::kUnavailable, fmt::format("look up the host '{}': {}", host, gai_strerror(error))};
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(list, freeaddrinfo);
  std::vector<Address> addresses;
  for (const addrinfo* at = list; at != nullptr; at = at->ai_next) {
    Address& address = addresses.emplace_back();
    std::memcpy(&address.storage, at->ai_addr, at->ai_addrlen);
    address.size = at->ai_addrlen;
  }
  return addresses;
}

std::string text_of(const Address& address) {
  std::array<char, INET6_ADDRSTRLEN + 32> host{};
  std::array<char, 16> port{};
  if (getnameinfo(reinterpret_cast<const sockaddr*>(&address.storage), address.size, host.data(), host.size(),
                  port.data(), port.size(), NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return "?";
  const bool v6 = address.storage.ss_family == AF_INET6;
  return fmt::format("{}{}{}:{}", v6 ? "[" : "", host.data(), v6 ? "]" : "", port.data());
}

// ------------------------------------------------------------------------------------------------------ poller

Result<Poller> Poller::open() {
  Descriptor epoll(epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) return Error{Code::kExhausted, "epoll_create1: " + reason(errno)};
  return Poller(std::move(epoll));
}

// Edge-triggered: one call per connection, whatever it waits for.
bool Poller::add(int descriptor, uint32_t tag) {
  epoll_event event{.events = kEvents, .data = {.u32 = tag}};
  return epoll_ctl(epoll_.number(), EPOLL_CTL_ADD, descriptor, &event) == 0;
}

void Poller::again(int descriptor, uint32_t tag) {
  epoll_event event{.events = kEvents, .data = {.u32 = tag}};
  epoll_ctl(epoll_.number(), EPOLL_CTL_MOD, descriptor, &event);
}

int Poller::poll(int timeout_ms) {
  std::array<epoll_event, kMostEvents> events;
  const int count = epoll_wait(epoll_.number(), events.data(), static_cast<int>(events.size()), timeout_ms);
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = events[static_cast<size_t>(i)];
    changes_.push_back({event.data.u32, (event.events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0});
  }
  return count;
}

// epoll_wait() counts in milliseconds; less than one is awaited by ppoll(), which counts in nanoseconds.
std::span<const Poller::Change> Poller::wait(TimePoint until) {
  changes_.clear();
  const Nanoseconds left = std::max(until - SteadyClock::now(), Nanoseconds(0));
  const auto whole = std::chrono::floor<std::chrono::milliseconds>(left);
  if (poll(static_cast<int>(whole.count())) != 0 || whole.count() > 0 || left.count() == 0) return changes_;
  pollfd look{.fd = epoll_.number(), .events = POLLIN, .revents = 0};
  const timespec rest{.tv_sec = 0, .tv_nsec = static_cast<long>(left.count())};
  if (ppoll(&look, 1, &rest, nullptr) > 0) poll(0);
  return changes_;
}

// ------------------------------------------------------------------------------------------------------- connection

Connection::Connection(Poller& poller, uint32_t tag, const Address& address, std::unique_ptr<Wire> wire)
    : poller_(&poller), tag_(tag), address_(address), wire_(std::move(wire)) {}

Connection::State Connection::connect() {
  if (socket_) return connecting_ ? State::kInFlight : State::kDone;
  if (open() == State::kFailed) return State::kFailed;
  return connecting_ ? State::kInFlight : State::kDone;
}

Connection::State Connection::send(const Request& request, bool timed) {
  in_flight_ = true;
  timed_ = timed;
  sent_at_ = answered_at_ = {};
  if (!socket_ && open() == State::kFailed) return State::kFailed;
  wire_->begin(request);
  return connecting_ ? State::kInFlight : write();
}

Connection::State Connection::advance(bool hung_up) {
  if (!socket_) return State::kIdle;
  if (connecting_) {
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(socket_.number(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return fail(kNoConnection, reason(error));
    sockaddr_storage peer{};
    socklen_t peer_size = sizeof peer;
    if (getpeername(socket_.number(), reinterpret_cast<sockaddr*>(&peer), &peer_size) != 0) return State::kInFlight;
    connecting_ = false;
    ++opened_;
    if (!in_flight_) return State::kDone;
  }
  if (!in_flight_) {
    if (go_on() == State::kFailed) close();  // the server has closed an idle connection, or spoken out of turn
    return State::kIdle;
  }
  const State state = go_on();
  if (state == State::kDone && hung_up) close();
  return state;
}

void Connection::close() {
  socket_ = Descriptor();
  connecting_ = in_flight_ = false;
}

bool Connection::to_this_machine() const {
  sockaddr_storage own{}, peer{};
  socklen_t own_size = sizeof own, peer_size = sizeof peer;
  if (getsockname(socket_.number(), reinterpret_cast<sockaddr*>(&own), &own_size) != 0 ||
      getpeername(socket_.number(), reinterpret_cast<sockaddr*>(&peer), &peer_size) != 0 ||
      own.ss_family != peer.ss_family)
    return false;
  if (own.ss_family == AF_INET)
    return reinterpret_cast<sockaddr_in&>(own).sin_addr.s_addr == reinterpret_cast<sockaddr_in&>(peer).sin_addr.s_addr;
  return std::memcmp(&reinterpret_cast<sockaddr_in6&>(own).sin6_addr, &reinterpret_cast<sockaddr_in6&>(peer).sin6_addr,
                     sizeof(in6_addr)) == 0;
}

Connection::State Connection::open() {
  Descriptor opened(::socket(address_.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!opened) return fail(kNoConnection, reason(errno));
  const int yes = 1;
  setsockopt(opened.number(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  const int done = ::connect(opened.number(), reinterpret_cast<const sockaddr*>(&address_.storage), address_.size);
  if (done != 0 && errno != EINPROGRESS) return fail(kNoConnection, reason(errno));
  connecting_ = done != 0;
  if (!connecting_) ++opened_;
  if (!poller_->add(opened.number(), tag_)) return fail(kNoConnection, reason(errno));
  socket_ = std::move(opened);
  wire_->open();
  return State::kInFlight;
}

Connection::State Connection::fail(int failure, std::string problem) {
  close();
  failure_ = failure;
  problem_ = std::move(problem);
  return State::kFailed;
}

// A server may answer, and close, before it has read the request: its answer says why it could not be sent.
Connection::State Connection::go_on() {
  if (!wire_->unsent().empty())
    if (const State written = write(); written != State::kInFlight) return written;
  return read();
}

Connection::State Connection::write() {
  if (const int error = push(); error != 0) {
    const State read_state = read();  // a refusal may be there
    return read_state == State::kDone ? read_state : fail(kClosed, reason(error));
  }
  return State::kInFlight;
}

int Connection::push() {
  for (std::string_view unsent = wire_->unsent(); !unsent.empty(); unsent = wire_->unsent()) {
    const ssize_t count = ::send(socket_.number(), unsent.data(), unsent.size(), MSG_NOSIGNAL);
    if (count < 0) {
      if (errno == EINTR) continue;
      return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : errno;
    }
    wire_->sent(static_cast<size_t>(count));
  }
  if (timed_ && sent_at_ == TimePoint()) sent_at_ = SteadyClock::now();
  return 0;
}

Connection::State Connection::read() {
  static thread_local std::array<char, kChunk> chunk;
  for (int chunks = 0; chunks < kMostChunks; ++chunks) {
    const ssize_t got = recv(socket_.number(), chunk.data(), chunk.size(), 0);
    if (got < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) return State::kInFlight;
      return fail(kClosed, reason(errno));
    }
    if (got == 0) {
      if (wire_->end() != Wire::Event::kDone)
        return fail(kClosed, "the server closed the connection before its answer was complete");
      close();
      return State::kDone;
    }
    const State state = take({chunk.data(), static_cast<size_t>(got)});
    if (state != State::kInFlight) return state;
  }
  poller_->again(socket_.number(), tag_);
  return State::kInFlight;
}

Connection::State Connection::take(std::string_view received) {
  const bool first = timed_ && answered_at_ == TimePoint();
  const TimePoint at = first ? SteadyClock::now() : TimePoint();
  const Wire::Event event = wire_->feed(received);
  if (event == Wire::Event::kBad) return fail(wire_->bad(), std::string(wire_->bad_text()));
  if (first && wire_->answering()) answered_at_ = at;
  const bool done = event == Wire::Event::kDone;
  if (done) in_flight_ = false;
  if (done && !wire_->response().keep_alive)
    close();
  else if (!wire_->unsent().empty())
    push();  // what HTTP/2 has to say of its own; a failure shows when it is read on
  return done ? State::kDone : State::kInFlight;
}

}  // namespace ridge::client
