#include "tune/knee.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

namespace ridge::tune {
namespace {

struct KneePoint {
  double rows_per_s, p99_ms, percent = 0;  // half-width of the throughput's interval
};
struct KneeCase {
  std::string name;
  std::vector<KneePoint> points;
  double chosen_rows_per_s;
};

TEST(Knee, IsChosenAsTheTableSays) {
  const std::vector<KneeCase> cases = {
      {"the only one", {{10, 5}}, 10},
      {"19 % of throughput are not worth 17 times the latency", {{41.7, 1550}, {35.0, 91}}, 35.0},
      {"8.8 times the throughput are worth 79 times the latency", {{65900, 7.9}, {7510, 0.1}}, 65900},
      {"faster in both", {{133.6, 865}, {169.1, 46}}, 169.1},
      {"a doubling of the latency for 5 %", {{105, 2}, {100, 1}}, 100},
      {"a doubling of the latency for 10 %", {{110, 2}, {100, 1}}, 110},
      {"within the interval the lower latency", {{110, 2, 6}, {100, 1, 6}}, 100},
      {"an interval of a half tells nothing: 30 % are not given up for half the latency",
       {{130, 2, 50}, {100, 1, 50}},
       130},
      {"equal latencies: the higher throughput", {{100, 5, 3}, {101, 5, 3}, {99, 5, 3}}, 101},
      {"the middle of three", {{100, 100}, {95, 10}, {20, 5}}, 95},
  };
  for (const KneeCase& one : cases) {
    std::vector<TradeOff> all;
    for (const KneePoint& point : one.points)
      all.push_back({std::log(point.rows_per_s), std::log1p(point.percent / 100), point.p99_ms});
    const std::optional<size_t> chosen = knee(all);
    ASSERT_TRUE(chosen) << one.name;
    EXPECT_EQ(one.points[*chosen].rows_per_s, one.chosen_rows_per_s) << one.name;
  }
  EXPECT_FALSE(knee({}));
}

TEST(Knee, DoesNotDependOnUnitsOrOrder) {
  const std::vector<TradeOff> all = {{4, 0.01, 90}, {3.7, 0.02, 8}, {2, 0.01, 3}};
  std::vector<TradeOff> other(all.rbegin(), all.rend());
  for (TradeOff& one : other) one.log_rate += 6.9, one.latency *= 1e-3;
  EXPECT_EQ(*knee(all), 2 - *knee(other));
}

}  // namespace
}  // namespace ridge::tune
