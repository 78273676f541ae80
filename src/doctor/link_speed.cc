#include "doctor/link_speed.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/proc_text.h"
#include "doctor/link_socket.h"

namespace ridge::doctor {
namespace {

constexpr std::string_view kMagic = "RIDGELNK";
constexpr size_t kRequestBytes = 16;
constexpr size_t kMessageBytes = 64;
constexpr size_t kBlockBytes = 256 << 10;
constexpr uint32_t kMostMilliseconds = 20000, kMostMessages = 100000;
constexpr Nanoseconds kPatience = std::chrono::seconds(5);
constexpr Nanoseconds kSlice = std::chrono::milliseconds(100);
constexpr std::byte kLast{1};

enum MessageKind : uint32_t { kEcho = 1, kSend = 2, kReceive = 3 };

struct Request {
  uint32_t kind = 0;
  uint32_t amount = 0;
};

using Bytes = std::vector<std::byte>;

// Integers go byte by byte, so that both ends agree on the byte order.
void put(std::span<std::byte> to, uint64_t value) {
  for (std::byte& byte : to) {
    byte = static_cast<std::byte>(value & 0xFF);
    value >>= 8;
  }
}
uint64_t take(std::span<const std::byte> from) {
  uint64_t value = 0;
  for (size_t i = from.size(); i-- > 0;) value = value << 8 | static_cast<uint64_t>(from[i]);
  return value;
}

Status send_request(const LinkSocket& peer, MessageKind kind, uint32_t amount) {
  std::array<std::byte, kRequestBytes> request;
  std::memcpy(request.data(), kMagic.data(), kMagic.size());
  put(std::span(request).subspan(8, 4), kind);
  put(std::span(request).subspan(12, 4), amount);
  return peer.send(request, kPatience);
}

Result<Request> receive_request(const LinkSocket& peer) {
  std::array<std::byte, kRequestBytes> bytes;
  RIDGE_TRY(peer.receive(bytes, kPatience));
  if (std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0)
    return Error{Code::kInvalid, "the peer is not a ridge doctor"};
  Request request;
  request.kind = static_cast<uint32_t>(take(std::span(bytes).subspan(8, 4)));
  request.amount = static_cast<uint32_t>(take(std::span(bytes).subspan(12, 4)));
  uint32_t most = request.kind == kEcho ? kMostMessages : kMostMilliseconds;
  if (request.kind < kEcho || request.kind > kReceive || request.amount > most)
    return Error{Code::kInvalid, "the peer sent an unknown request"};
  return request;
}

// Zeros for `milliseconds`, a final 1, and then how much of it arrived.
Status stream_out(const LinkSocket& peer, uint32_t milliseconds, const Clock& clock) {
  Bytes block(kBlockBytes);
  const TimePoint end = clock.now() + std::chrono::milliseconds(milliseconds);
  while (clock.now() < end) RIDGE_TRY(peer.send(block, kPatience));
  RIDGE_TRY(peer.send(std::span(&kLast, 1), kPatience));
  std::array<std::byte, 8> received;
  return peer.receive(received, kPatience);
}

// The rates of slices of 100 ms, until the final 1.
Result<std::vector<double>> stream_in(const LinkSocket& peer, const Clock& clock) {
  Bytes block(kBlockBytes);
  std::vector<double> rates;
  uint64_t total = 0, in_slice = 0;
  const TimePoint most = clock.now() + std::chrono::milliseconds(2 * kMostMilliseconds);
  for (TimePoint begin = clock.now(); clock.now() < most;) {
    RIDGE_ASSIGN(size_t got, peer.receive_some(block, kPatience));
    if (got == 0) return Error{Code::kUnavailable, "the peer closed the connection"};
    total += got;
    in_slice += got;
    if (Nanoseconds passed = clock.now() - begin; passed >= kSlice) {
      rates.push_back(static_cast<double>(in_slice) / to_seconds(passed));
      in_slice = 0;
      begin = clock.now();
    }
    if (block[got - 1] == kLast) break;
  }
  std::array<std::byte, 8> answer;
  put(answer, total);
  RIDGE_TRY(peer.send(answer, kPatience));
  return rates;
}

Status echo(const LinkSocket& peer, uint32_t messages) {
  std::array<std::byte, kMessageBytes> message;
  for (uint32_t i = 0; i < messages; ++i) {
    RIDGE_TRY(peer.receive(message, kPatience));
    RIDGE_TRY(peer.send(message, kPatience));
  }
  return {};
}

// The server measures what arrives and tells it: median rate and spread as two numbers after the stream.
Status answer_send(const LinkSocket& peer, const Clock& clock) {
  RIDGE_ASSIGN(std::vector<double> rates, stream_in(peer, clock));
  std::array<std::byte, 8> count;
  put(count, rates.size());
  RIDGE_TRY(peer.send(count, kPatience));
  Bytes list(8 * rates.size());
  for (size_t i = 0; i < rates.size(); ++i) put(std::span(list).subspan(8 * i, 8), static_cast<uint64_t>(rates[i]));
  return peer.send(list, kPatience);
}

Status serve_requests(const LinkSocket& peer, const Clock& clock) {
  for (;;) {
    RIDGE_ASSIGN(Request request, receive_request(peer));
    if (request.kind == kEcho) RIDGE_TRY(echo(peer, request.amount));
    if (request.kind == kSend) RIDGE_TRY(answer_send(peer, clock));
    if (request.kind == kReceive) RIDGE_TRY(stream_out(peer, request.amount, clock));
  }
}

Result<std::vector<double>> measure_send(const LinkSocket& peer, uint32_t milliseconds, const Clock& clock) {
  RIDGE_TRY(send_request(peer, kSend, milliseconds));
  RIDGE_TRY(stream_out(peer, milliseconds, clock));
  std::array<std::byte, 8> count;
  RIDGE_TRY(peer.receive(count, kPatience));
  if (take(count) > kMostMilliseconds) return Error{Code::kInvalid, "the peer's answer is invalid"};
  Bytes list(8 * take(count));
  RIDGE_TRY(peer.receive(list, kPatience));
  std::vector<double> rates;
  for (size_t at = 0; at < list.size(); at += 8)
    rates.push_back(static_cast<double>(take(std::span(list).subspan(at, 8))));
  return rates;
}

Result<std::vector<double>> measure_receive(const LinkSocket& peer, uint32_t milliseconds, const Clock& clock) {
  RIDGE_TRY(send_request(peer, kReceive, milliseconds));
  return stream_in(peer, clock);
}

Result<std::vector<double>> measure_round_trips(const LinkSocket& peer, uint32_t messages, const Clock& clock) {
  RIDGE_TRY(send_request(peer, kEcho, messages));
  std::array<std::byte, kMessageBytes> message{};
  std::vector<double> times_us;
  for (uint32_t i = 0; i < messages; ++i) {
    TimePoint begin = clock.now();
    RIDGE_TRY(peer.send(message, kPatience));
    RIDGE_TRY(peer.receive(message, kPatience));
    times_us.push_back(1e3 * to_ms(clock.now() - begin));
  }
  return times_us;
}

double at_share(const std::vector<double>& ascending, double share) {
  return ascending[std::min(ascending.size() - 1, static_cast<size_t>(share * static_cast<double>(ascending.size())))];
}

// The first slice, in which TCP still opens its window, does not count.
Result<double> median_rate(std::vector<double> rates, LinkSpeed& speed) {
  if (rates.size() > 2) rates.erase(rates.begin());
  if (rates.empty()) return Error{Code::kFailed, "the link test was too short"};
  std::sort(rates.begin(), rates.end());
  double median = at_share(rates, 0.5);
  double spread = 50 * (at_share(rates, 0.75) - at_share(rates, 0.25)) / median;
  speed.spread_percent = std::max(speed.spread_percent, spread);
  return median;
}

}  // namespace

Result<LinkOptions> parse_peer(const std::string& text) {
  LinkOptions options;
  options.host = text;
  bool bracketed = text.starts_with('[') && text.find(']') != std::string::npos;
  size_t colon = bracketed ? text.find("]:") : text.rfind(':');
  bool has_port = colon != std::string::npos && (bracketed || text.find(':') == colon);  // "::1" is an address alone
  if (has_port) {
    std::optional<int64_t> port = to_number(text.substr(colon + (bracketed ? 2 : 1)));
    if (!port || *port < 1 || *port > 65535)
      return Error{Code::kInvalid, "--peer " + text + ": expected HOST or HOST:PORT with a port of 1 to 65535"};
    options.port = static_cast<uint16_t>(*port);
    options.host = text.substr(0, colon + (bracketed ? 1 : 0));
  }
  if (bracketed) options.host = options.host.substr(1, options.host.find(']') - 1);
  if (options.host.empty()) return Error{Code::kInvalid, "--peer " + text + ": expected HOST or HOST:PORT"};
  return options;
}

Result<LinkSpeed> measure_link(const LinkOptions& options) {
  RIDGE_ASSIGN(LinkSocket peer, LinkSocket::connect(options.host, options.port, kPatience));
  LinkSpeed speed;
  speed.peer = options.host + ":" + std::to_string(options.port);
  speed.interface = peer.interface();
  RIDGE_ASSIGN(std::vector<double> times,
               measure_round_trips(peer, static_cast<uint32_t>(options.round_trips), *options.clock));
  std::sort(times.begin(), times.end());
  speed.round_trips = static_cast<int64_t>(times.size());
  speed.round_trip_us = at_share(times, 0.5);
  speed.round_trip_p99_us = at_share(times, 0.99);
  auto milliseconds = static_cast<uint32_t>(to_ms(options.time_per_direction));
  RIDGE_ASSIGN(std::vector<double> sent, measure_send(peer, milliseconds, *options.clock));
  RIDGE_ASSIGN(speed.send_bytes_per_s, median_rate(std::move(sent), speed));
  RIDGE_ASSIGN(std::vector<double> received, measure_receive(peer, milliseconds, *options.clock));
  RIDGE_ASSIGN(speed.receive_bytes_per_s, median_rate(std::move(received), speed));
  return speed;
}

Status serve_link(uint16_t port, const std::function<void(uint16_t)>& ready, const std::function<bool()>& stop,
                  const Clock& clock) {
  RIDGE_ASSIGN(LinkSocket listener, LinkSocket::listen(port));
  ready(listener.local_port());
  while (!stop()) {
    Result<LinkSocket> peer = listener.accept(kSlice);
    // However a client ends, the next one is welcome.
    if (peer) (void)serve_requests(*peer, clock).ok();
  }
  return {};
}

}  // namespace ridge::doctor
