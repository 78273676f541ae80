// The network between two machines, measured by two ridge processes over TCP: round-trip time of a small message, and
// bandwidth in both directions.
//
// Protocol, all integers little-endian: the client sends a request of 16 bytes {"RIDGELNK", uint32 kind, uint32
// amount}. kEcho: `amount` messages of 64 bytes, each sent back at once. kSend: the client sends until it has sent for
// `amount` ms, then a final byte 1 (all others are 0), and gets as uint64 the number of bytes received, the number of
// slices of 100 ms and the rate of each [bytes/s]. kReceive: the server sends and gets the number of bytes received.
// One client at a time; a request of more than 20 s, or anything else, ends the connection.
// There is no authentication, and only zeros are sent; the listener runs only on request.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/clock.h"
#include "base/fields.h"
#include "base/result.h"

namespace ridge::doctor {

constexpr uint16_t kLinkPort = 5151;

struct LinkSpeed {
  std::string peer;             // "host:port"
  std::string interface;        // through which the peer is reached; empty: not known
  double send_bytes_per_s = 0;  // payload, from here to the peer
  double receive_bytes_per_s = 0;
  double spread_percent =
      0;  // half of the middle half of the rates of 100 ms slices over their median, the worse direction
  double round_trip_us = 0;  // median of a message of 64 bytes
  double round_trip_p99_us = 0;
  int64_t round_trips = 0;
};
void visit_fields(auto& visit, Is<LinkSpeed> auto& speed) {
  visit("peer", speed.peer);
  visit.optional("interface", speed.interface);
  visit("send_bytes_per_s", speed.send_bytes_per_s);
  visit("receive_bytes_per_s", speed.receive_bytes_per_s);
  visit.optional("spread_percent", speed.spread_percent);
  visit("round_trip_us", speed.round_trip_us);
  visit("round_trip_p99_us", speed.round_trip_p99_us);
  visit("round_trips", speed.round_trips);
}

struct LinkOptions {
  std::string host;
  uint16_t port = kLinkPort;
  Nanoseconds time_per_direction = std::chrono::seconds(2);
  int round_trips = 2000;
  const Clock* clock = &system_clock();
};

// "host", "host:port", "[::1]:port".
Result<LinkOptions> parse_peer(const std::string& text);

// Every step has a time limit; a silent peer is an error after 5 s.
Result<LinkSpeed> measure_link(const LinkOptions& options);

// Serves requests until `stop` returns true (polled about ten times a second). `port` 0: a free one; `ready` gets the
// port.
Status serve_link(uint16_t port, const std::function<void(uint16_t)>& ready, const std::function<bool()>& stop,
                  const Clock& clock = system_clock());

}  // namespace ridge::doctor
