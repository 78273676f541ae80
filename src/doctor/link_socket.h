// The few socket operations of the link test, each with a deadline in real time, as poll() waits; the clock of a measurement is an argument
// of link_speed.h. Move-only owner of one TCP socket; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/result.h"

namespace ridge::doctor {

class LinkSocket {
 public:
  explicit LinkSocket(int descriptor) : descriptor_(descriptor) {}
  LinkSocket(LinkSocket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  LinkSocket& operator=(LinkSocket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  LinkSocket(const LinkSocket&) = delete;
  LinkSocket& operator=(const LinkSocket&) = delete;
  ~LinkSocket();

  static Result<LinkSocket> connect(const std::string& host, uint16_t port, Nanoseconds limit);
  // Listens on all addresses, IPv6 and IPv4; IPv4 alone where there is no IPv6.
  static Result<LinkSocket> listen(uint16_t port);
  // kTimeout when no peer connected.
  Result<LinkSocket> accept(Nanoseconds limit) const;

  // All of it, or an error.
  Status send(std::span<const std::byte> data, Nanoseconds limit) const;
  Status receive(std::span<std::byte> data, Nanoseconds limit) const;
  // At least one byte; 0 = the other side closed.
  Result<size_t> receive_some(std::span<std::byte> data, Nanoseconds limit) const;

  uint16_t local_port() const;
  // Name of the interface that has the local address ("eth0"); empty if none has.
  std::string interface() const;

 private:
  int descriptor_;
};

}  // namespace ridge::doctor
