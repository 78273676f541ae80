#include "client/judgement.h"

#include <gtest/gtest.h>

#include <functional>

namespace ridge::client {
namespace {

Point point_of(double rate, double answered, std::vector<double>& latencies_ms, int late, int64_t failures = 0) {
  latencies_ms.assign(1000, 5);
  for (int i = 0; i < late; ++i) latencies_ms[static_cast<size_t>(i)] = 50;
  Point point;
  point.rate_per_s = rate;
  point.requests_per_s = answered;
  point.samples = 1000;
  point.latency_ms.mean = 5;
  point.latency_ms.p99 = late > 10 ? 50 : 5;
  point.client = {.threads = 1, .cpus = 0.2, .waiting = 0.1, .send_ms = 0, .wait_ms = 5, .receive_ms = 0};
  point.load = measure::OpenLoad{rate, answered, 0.1, 0};
  if (failures > 0) point.failures["503"] = failures;
  return point;
}

bool meets(double answered, int late, int64_t failures = 0) {
  std::vector<double> latencies;
  const Point point = point_of(1000, answered, latencies, late, failures);
  return judge(point, latencies, 10).met;
}

TEST(Judgement, AGoalAllowsOneRequestInAHundredToBeLateOrFailed) {
  EXPECT_TRUE(meets(1000, 0));
  EXPECT_TRUE(meets(1000, 10));
  EXPECT_FALSE(meets(1000, 11));
  EXPECT_TRUE(meets(1000, 5, 5));
  EXPECT_FALSE(meets(1000, 5, 6)) << "a failed request is a late one";
  EXPECT_FALSE(meets(1000, 0, 20));
}

TEST(Judgement, ARateThatIsNotKeptUpWithDoesNotMeetAGoal) {
  EXPECT_TRUE(meets(960, 0));
  EXPECT_FALSE(meets(940, 0)) << "a long goal would otherwise be met by a queue that only grows";
}

TEST(Judgement, NothingEndedIsNotMet) { EXPECT_FALSE(judge(Point(), {}, 10).met); }

std::string limiter(const std::function<void(Point&)>& change) {
  std::vector<double> latencies;
  Point point = point_of(1000, 1000, latencies, 50);
  change(point);
  return limited_by(point, "p99 50 ms").id;
}

TEST(Judgement, NamesWhatKeepsAHigherRateFromTheGoal) {
  EXPECT_EQ(limiter([](Point& p) { p.failures["503"] = 100; }), "failures");
  EXPECT_EQ(limiter([](Point& p) { p.samples = 0; }), "failures");
  EXPECT_EQ(limiter([](Point& p) { p.client.cpus = 0.95; }), "client");
  EXPECT_EQ(limiter([](Point& p) { p.client.waiting = 0.75; }), "client");
  EXPECT_EQ(limiter([](Point& p) { p.load->busy_share = 1; }), "connections");
  EXPECT_EQ(limiter([](Point&) {}), "latency") << "a server without statistics";
  EXPECT_EQ(limiter([](Point& p) { p.server.emplace().queue_ms = 4; }), "queue");
  EXPECT_EQ(limiter([](Point& p) { p.server.emplace().compute_ms = 4; }), "compute");
  EXPECT_EQ(limiter([](Point& p) { p.server.emplace().compute_ms = 1; }), "outside");
  EXPECT_EQ(limiter([](Point& p) {
              p.server.emplace().compute_ms = 1;
              p.load->queueing_ms = 4;
            }),
            "compute")
      << "waiting for a connection is no time outside";
}

TEST(Judgement, TheKneeIsTheFewestCallersNearTheBestThroughput) {
  std::vector<Point> points;
  const auto add = [&](int callers, double rate) {
    Point& point = points.emplace_back();
    point.concurrency = callers;
    point.rows_per_s = rate;
  };
  add(1, 100);
  EXPECT_EQ(knee(points), nullptr);
  add(2, 190);
  add(4, 240);
  add(8, 250);
  add(16, 200);
  ASSERT_NE(knee(points), nullptr);
  EXPECT_EQ(knee(points)->concurrency, 4);
  for (Point& point : points) point.rate_per_s = 1;
  EXPECT_EQ(knee(points), nullptr) << "of closed loops";
}

TEST(Judgement, MoreCallersAreNotBetterWithinTheIntervals) {
  std::vector<Point> points(3);
  const double rates[] = {200, 225, 250};
  for (size_t i = 0; i < points.size(); ++i) {
    points[i].concurrency = 1 << i;
    points[i].rows_per_s = rates[i];
  }
  ASSERT_NE(knee(points), nullptr);
  EXPECT_EQ(knee(points)->concurrency, 4) << "by the values";
  for (Point& point : points) point.rows_ci95_per_s = {0.9 * point.rows_per_s, point.rows_per_s / 0.9};
  EXPECT_EQ(knee(points)->concurrency, 2) << "10 % less, of which 5 % are accepted, and about 10 % known of each";
  for (Point& point : points) point.rows_ci95_per_s = {0.99 * point.rows_per_s, point.rows_per_s / 0.99};
  EXPECT_EQ(knee(points)->concurrency, 4);
}

}  // namespace
}  // namespace ridge::client
