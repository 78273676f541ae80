#include "serve/adaptive_delay.h"

#include <gtest/gtest.h>

#include "serve/simulated_load.h"
#include "serve/test_time.h"

namespace ridge::serve {
namespace {

using namespace std::chrono_literals;

// Runs of n rows take 8 + 2 n ms.
ServiceTimes linear_times(int64_t least, int64_t largest) {
  ServiceTimes times;
  for (int64_t rows = least; rows <= largest; ++rows) times.record(rows, 8ms + rows * 2ms, at(rows));
  return times;
}

Arrivals every(Nanoseconds gap) {
  Arrivals arrivals;
  for (int i = 0; i < 20; ++i) arrivals.record(at(0) + i * gap);
  return arrivals;
}

TEST(AdaptiveDelay, WaitsAsLongAsAGapMayBeToPay) {
  const Arrivals arrivals = every(1ms);
  const ServiceTimes times = linear_times(1, 8);
  EXPECT_EQ(delay_pays_until(1, 1, arrivals, times), arrivals.last() + 3ms) << "10 / 2 - 2";
  EXPECT_EQ(delay_pays_until(2, 2, arrivals, times), arrivals.last() + Nanoseconds(10ms) / 3 - 2ms);
  EXPECT_EQ(delay_pays_until(4, 4, arrivals, times), arrivals.last()) << "10 / 5 - 2";
}

TEST(AdaptiveDelay, DoesNotWaitForRequestsThatComeTooSeldom) {
  const Arrivals arrivals = every(4ms);
  EXPECT_EQ(delay_pays_until(1, 1, arrivals, linear_times(1, 8)), arrivals.last());
}

TEST(AdaptiveDelay, WaitsWhereMostGapsAreShortThoughTheirMeanIsLong) {
  Arrivals bursts;
  for (int i = 0; i < 16; ++i) bursts.record(at(0) + i / 8 * 1s + i % 8 * 100us);
  EXPECT_GT(bursts.gap(), 50ms);
  EXPECT_EQ(delay_pays_until(1, 1, bursts, linear_times(1, 8)), bursts.last() + 3ms);
}

TEST(AdaptiveDelay, WithoutMeasurementsNothingWaits) {
  const Arrivals arrivals = every(1ms);
  EXPECT_EQ(delay_pays_until(1, 1, arrivals, {}), arrivals.last());
  EXPECT_EQ(delay_pays_until(1, 1, arrivals, linear_times(4, 8)), arrivals.last()) << "one row alone was not measured";
  EXPECT_EQ(delay_pays_until(1, 1, Arrivals{}, linear_times(1, 8)), TimePoint{});
}

struct DelayedModel {
  std::string name;
  double fixed_ms, row_ms;  // of a run
  int64_t max_rows;
};

// Mean time to an answer [ms].
double mean_ms(const DelayedModel& model, Nanoseconds delay, bool adaptive, std::vector<SimulatedRequest> requests) {
  SimulatedLoad load;
  load.queue.batch = {true, model.max_rows, {}, delay, adaptive};
  load.queue.levels = {{}};
  load.tells_deadline = false;
  load.requests = std::move(requests);
  load.run_time = [model, random = std::mt19937_64(3)](int64_t rows, Nanoseconds) mutable {
    std::uniform_real_distribution<double> factor(0.9, 1.1);
    return from_seconds((model.fixed_ms + model.row_ms * static_cast<double>(rows)) / 1e3 * factor(random));
  };
  double sum = 0;
  const std::vector<SimulatedRequest> answered = Simulation(std::move(load)).run();
  for (const SimulatedRequest& request : answered) sum += to_ms(request.answer.value());
  return sum / static_cast<double>(answered.size());
}

class AdaptiveDelayUnderLoad : public testing::TestWithParam<DelayedModel> {};

TEST_P(AdaptiveDelayUnderLoad, IsWithinThreePercentOfTheBetterOfNoDelayAndAFixedOneAtAnyLoad) {
  const DelayedModel& model = GetParam();
  const auto most = static_cast<double>(model.max_rows);
  for (const double share : {0.05, 0.3, 0.7, 0.95}) {
    std::mt19937_64 random(5);
    std::vector<SimulatedRequest> requests;
    add_poisson(requests, share * most / (model.fixed_ms + model.row_ms * most) * 1e3, 0s, 40s, random);
    const double better = std::min(mean_ms(model, 0ns, false, requests), mean_ms(model, 3ms, false, requests));
    EXPECT_LE(mean_ms(model, 0ns, true, requests), 1.03 * better) << share;
  }
}

TEST_P(AdaptiveDelayUnderLoad, OfBurstsItIsWithinAnEighthOfTheBetter) {
  const DelayedModel& model = GetParam();
  std::vector<SimulatedRequest> requests;
  for (int i = 0; i < 300; ++i)
    for (int k = 0; k < 8; ++k) requests.push_back({i * 90ms + k * 100us, {}, false});
  const double better = std::min(mean_ms(model, 0ns, false, requests), mean_ms(model, 3ms, false, requests));
  EXPECT_LE(mean_ms(model, 0ns, true, requests), 1.125 * better);
}

INSTANTIATE_TEST_SUITE_P(Models, AdaptiveDelayUnderLoad,
                         testing::Values(DelayedModel{"batches", 8, 2, 8},
                                         DelayedModel{"almost_free_rows", 20, 0.1, 32},
                                         DelayedModel{"no_gain_of_batches", 1, 10, 8},
                                         DelayedModel{"quick", 2, 0.5, 16}),
                         [](const auto& row) { return row.param.name; });

TEST(AdaptiveDelay, IsBetterThanNoneWhereRequestsComeTogether) {
  const DelayedModel model{"", 20, 0.1, 32};
  std::vector<SimulatedRequest> requests;
  for (int i = 0; i < 300; ++i)
    for (int k = 0; k < 8; ++k) requests.push_back({i * 90ms + k * 100us, {}, false});
  EXPECT_LE(mean_ms(model, 0ns, true, requests), 0.7 * mean_ms(model, 0ns, false, requests));
}

}  // namespace
}  // namespace ridge::serve
