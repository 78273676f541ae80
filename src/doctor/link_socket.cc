#include "doctor/link_socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

namespace ridge::doctor {
namespace {

Error socket_error(const std::string& doing) {
  return {errno == ETIMEDOUT ? Code::kTimeout : Code::kUnavailable, doing + ": " + std::strerror(errno)};
}

Status wait_for(int descriptor, short events, TimePoint deadline, const char* doing) {
  for (;;) {
    auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - SteadyClock::now()).count();
    pollfd ready{descriptor, events, 0};
    int polled = poll(&ready, 1, static_cast<int>(std::clamp<int64_t>(left, 0, 1000)));
    if (polled > 0) return {};
    if (polled < 0 && errno != EINTR) return socket_error(doing);
    if (SteadyClock::now() >= deadline) return Error{Code::kTimeout, std::string(doing) + ": no answer in time"};
  }
}

Status finish_connecting(int descriptor, const addrinfo& address, TimePoint deadline) {
  if (::connect(descriptor, address.ai_addr, address.ai_addrlen) == 0) return {};
  if (errno != EINPROGRESS) return socket_error("connect");
  RIDGE_TRY(wait_for(descriptor, POLLOUT, deadline, "connect"));
  int failure = 0;
  socklen_t size = sizeof failure;
  getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &failure, &size);
  if (failure == 0) return {};
  errno = failure;
  return socket_error("connect");
}

// Sends small messages at once; the round trip would otherwise include the delay of acknowledgements.
void send_at_once(int descriptor) {
  int one = 1;
  setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

Result<LinkSocket> listen_on(int family, uint16_t port) {
  int descriptor = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return socket_error("listen");
  LinkSocket owner(descriptor);
  int one = 1, zero = 0;
  setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  sockaddr_in6 v6{};
  sockaddr_in v4{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(port);
  v4.sin_family = AF_INET;
  v4.sin_port = htons(port);
  if (family == AF_INET6) setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof zero);
  const auto* address = family == AF_INET6 ? reinterpret_cast<sockaddr*>(&v6) : reinterpret_cast<sockaddr*>(&v4);
  socklen_t size = family == AF_INET6 ? sizeof v6 : sizeof v4;
  if (bind(descriptor, address, size) != 0 || ::listen(descriptor, 4) != 0)
    return socket_error("listen on port " + std::to_string(port));
  return owner;
}

}  // namespace

LinkSocket::~LinkSocket() {
  if (descriptor_ >= 0) close(descriptor_);
}

Result<LinkSocket> LinkSocket::connect(const std::string& host, uint16_t port, Nanoseconds limit) {
  const TimePoint deadline = SteadyClock::now() + limit;
  addrinfo wanted{}, *found = nullptr;
  wanted.ai_socktype = SOCK_STREAM;
  int failure = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found);
  if (failure != 0) return Error{Code::kNotFound, "peer " + host + ": " + gai_strerror(failure)};
  std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(found, freeaddrinfo);
  Error last{Code::kUnavailable, "no address"};
  for (const addrinfo* address = addresses.get(); address != nullptr; address = address->ai_next) {
    LinkSocket made(socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (made.descriptor_ < 0) continue;
    Status connected = finish_connecting(made.descriptor_, *address, deadline);
    if (connected) {
      send_at_once(made.descriptor_);
      return made;
    }
    last = connected.error();
  }
  return wrap(last, "peer " + host + ", port " + std::to_string(port));
}

Result<LinkSocket> LinkSocket::listen(uint16_t port) {
  Result<LinkSocket> both = listen_on(AF_INET6, port);
  return both ? std::move(both) : listen_on(AF_INET, port);
}

Result<LinkSocket> LinkSocket::accept(Nanoseconds limit) const {
  RIDGE_TRY(wait_for(descriptor_, POLLIN, SteadyClock::now() + limit, "wait for a peer"));
  LinkSocket peer(accept4(descriptor_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (peer.descriptor_ < 0) return socket_error("wait for a peer");
  send_at_once(peer.descriptor_);
  return peer;
}

Status LinkSocket::send(std::span<const std::byte> data, Nanoseconds limit) const {
  const TimePoint deadline = SteadyClock::now() + limit;
  while (!data.empty()) {
    ssize_t sent = ::send(descriptor_, data.data(), data.size(), MSG_NOSIGNAL);
    if (sent > 0) data = data.subspan(static_cast<size_t>(sent));
    if (sent > 0 || (sent < 0 && errno == EINTR)) continue;
    if (sent < 0 && errno != EAGAIN) return socket_error("send to the peer");
    RIDGE_TRY(wait_for(descriptor_, POLLOUT, deadline, "send to the peer"));
  }
  return {};
}

Result<size_t> LinkSocket::receive_some(std::span<std::byte> data, Nanoseconds limit) const {
  const TimePoint deadline = SteadyClock::now() + limit;
  for (;;) {
    ssize_t got = recv(descriptor_, data.data(), data.size(), 0);
    if (got >= 0) return static_cast<size_t>(got);
    if (errno == EINTR) continue;
    if (errno != EAGAIN) return socket_error("receive from the peer");
    RIDGE_TRY(wait_for(descriptor_, POLLIN, deadline, "receive from the peer"));
  }
}

Status LinkSocket::receive(std::span<std::byte> data, Nanoseconds limit) const {
  const TimePoint deadline = SteadyClock::now() + limit;
  while (!data.empty()) {
    RIDGE_ASSIGN(size_t got, receive_some(data, deadline - SteadyClock::now()));
    if (got == 0) return Error{Code::kUnavailable, "the peer closed the connection"};
    data = data.subspan(got);
  }
  return {};
}

uint16_t LinkSocket::local_port() const {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  if (getsockname(descriptor_, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                                             : reinterpret_cast<sockaddr_in&>(address).sin_port);
}

std::string LinkSocket::interface() const {
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  if (getsockname(descriptor_, reinterpret_cast<sockaddr*>(&own), &size) != 0) return "";
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return "";
  std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> interfaces(list, freeifaddrs);
  for (const ifaddrs* at = list; at != nullptr; at = at->ifa_next) {
    if (at->ifa_addr == nullptr || at->ifa_addr->sa_family != own.ss_family) continue;
    bool same = own.ss_family == AF_INET6
                    ? std::memcmp(&reinterpret_cast<sockaddr_in6*>(at->ifa_addr)->sin6_addr,
                                  &reinterpret_cast<sockaddr_in6&>(own).sin6_addr, sizeof(in6_addr)) == 0
                    : reinterpret_cast<sockaddr_in*>(at->ifa_addr)->sin_addr.s_addr ==
                          reinterpret_cast<sockaddr_in&>(own).sin_addr.s_addr;
    if (same) return at->ifa_name;
  }
  return "";
}

}  // namespace ridge::doctor
