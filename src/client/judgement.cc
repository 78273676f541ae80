#include "client/judgement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/units.h"

namespace ridge::client {
namespace {

constexpr double kLateShare = 0.01;  // by the meaning of p99
constexpr double kKeptUp = 0.95;     // of the intended rate; at the ends of a visit a few requests are cut off
constexpr double kKneeShare = 0.95;
constexpr double kFullyBusyConnections = 0.98;

// Half-width of the throughput's interval, in logarithms; 0: there is none.
double half_width_of(const Point& point) {
  const measure::Interval& interval = point.rows_ci95_per_s;
  if (!interval.low || !interval.high || *interval.low <= 0) return 0;
  return std::log(*interval.high / *interval.low) / 2;
}

// By more than 5 %, and by more than chance.
bool is_below(const Point& point, const Point& best) {
  if (point.rows_per_s <= 0) return best.rows_per_s > 0;
  const double lost = std::log(kKneeShare * best.rows_per_s / point.rows_per_s);
  return lost > std::hypot(half_width_of(point), half_width_of(best));
}

}  // namespace

Verdict judge(const Point& point, std::span<const double> latencies_ms, double p99_ms) {
  const int64_t failures = failed(point);
  const auto all = static_cast<double>(latencies_ms.size()) + static_cast<double>(failures);
  if (all == 0) return {false, "no request ended"};
  const auto late = static_cast<double>(
      std::count_if(latencies_ms.begin(), latencies_ms.end(), [&](double ms) { return ms > p99_ms; }));
  const auto bad = static_cast<double>(failures);
  if (bad > kLateShare * all) return {false, format_percent(100 * bad / all) + " of the requests failed"};
  if (late + bad > kLateShare * all) return {false, "p99 " + format_ms(point.latency_ms.p99)};
  if (point.rate_per_s && point.requests_per_s < kKeptUp * *point.rate_per_s)
    return {false, fmt::format("{} of {} were answered", format_rate(point.requests_per_s, "requests"),
                               format_rate(*point.rate_per_s, "requests"))};
  return {true, ""};
}

LimitedBy limited_by(const Point& point, const std::string& why) {
  const std::string at =
      fmt::format("At {}: {}", format_rate(point.rate_per_s.value_or(point.requests_per_s), "requests"), why);
  if (point.samples == 0 || failed(point) > point.samples / 100)
    return {"failures",
            fmt::format("{}{}.", at,
                        point.problems.empty() ? "" : ", the first with \"" + point.problems.begin()->second + "\"")};
  if (is_bottleneck(point.client))
    return {"client", at + "; the load generator itself is the bottleneck: its threads are always busy, or wait for a "
                           "CPU that the server uses."};
  if (point.load && point.load->busy_share >= kFullyBusyConnections)
    return {
        "connections",
        fmt::format("{}; all {} connections are busy: requests wait {} for one before they are sent (--concurrency).",
                    at, point.concurrency, format_ms(point.load->queueing_ms))};
  if (!point.server) return {"latency", at + "; the server has no statistics that say more."};
  const ServerSide& server = *point.server;
  const double compute_ms = server.input_ms + server.compute_ms + server.output_ms;
  const std::string in_server =
      fmt::format("in the server a request waits {} in the queue and is computed for {}, on average",
                  format_ms(server.queue_ms), format_ms(compute_ms));
  const double seen_ms = point.latency_ms.mean - (point.load ? point.load->queueing_ms : 0);
  if (server.queue_ms + compute_ms < seen_ms / 2)
    return {
        "outside",
        fmt::format("{}; {}, of {} that the client sees: the rest is network, HTTP, or a CPU that was busy elsewhere.",
                    at, in_server, format_ms(seen_ms))};
  if (server.queue_ms > compute_ms) return {"queue", fmt::format("{}; {}: its instances are busy.", at, in_server)};
  return {"compute", fmt::format("{}; {}.", at, in_server)};
}

const Point* knee(std::span<const Point> points) {
  const Point* best = nullptr;
  size_t closed = 0;
  for (const Point& point : points) {
    if (point.rate_per_s) continue;
    ++closed;
    if (best == nullptr || point.rows_per_s > best->rows_per_s) best = &point;
  }
  if (closed < 2) return nullptr;
  const Point* fewest = best;
  for (const Point& point : points)
    if (!point.rate_per_s && !is_below(point, *best) && point.concurrency < fewest->concurrency) fewest = &point;
  return fewest;
}

}  // namespace ridge::client
