#include "sizing/capacity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <tuple>
#include <vector>

#include "base/units.h"
#include "sizing/queueing.h"

namespace ridge::sizing {
namespace {

constexpr double kShare = 0.99;
constexpr int64_t kMostInstances = 10'000'000;

double number(int64_t value) { return static_cast<double>(value); }

struct BatchTimes {
  double mean_wait_ms = 0, p99_wait_ms = 0;  // of full batches, for a free instance
  double p99_ms = 0;                         // of rows
};

double quantile(std::vector<double>& values, double share) {
  const auto at = values.begin() + static_cast<ptrdiff_t>(share * number(static_cast<int64_t>(values.size()) - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

// Times of random rows in batches, by a simulation with fixed random numbers: a batch of b rows arrives far more evenly
// than rows do (E_b/D/c), and rows that wait long for others to fill their batch are not those of the longest queue, so
// neither queues of random arrivals nor sums of percentiles will do.
BatchTimes batch_times(const Load& load, const Service& service, int64_t instances) {
  static const std::vector<double> gaps = [] {  // exponential, of mean 1
    std::vector<double> all(400'000);
    std::mt19937_64 random(1);
    for (double& gap : all) gap = -std::log((number(static_cast<int64_t>(random() >> 11)) + 1) / 0x1p53);
    return all;
  }();
  const auto rows = static_cast<size_t>(service.batch);
  const size_t batches = std::max<size_t>(1, gaps.size() / rows);
  std::vector<double> free_at(std::min<size_t>(static_cast<size_t>(instances), batches),
                              0);  // in turn: all runs take the same time
  std::vector<double> waits(batches), times, arrivals(rows);
  times.reserve(batches * rows);
  double now = 0;
  for (size_t batch = 0; batch < batches; ++batch) {
    for (size_t row = 0; row < rows; ++row) {
      now += gaps[(batch * rows + row) % gaps.size()] * 1e3 / load.rows_per_s;
      arrivals[row] = now;
    }
    double& free = free_at[batch % free_at.size()];
    waits[batch] = std::max(0.0, free - now);
    free = now + waits[batch] + service.ms;
    for (const double arrival : arrivals) times.push_back(free - arrival);
  }
  const double mean = std::accumulate(waits.begin(), waits.end(), 0.0) / static_cast<double>(batches);
  return {.mean_wait_ms = mean, .p99_wait_ms = quantile(waits, kShare), .p99_ms = quantile(times, kShare)};
}

std::string why_never(const Load& load, const Service& service, const Capacity& most) {
  if (service.ms > *load.p99_ms)
    return fmt::format("one run takes {} ({}), longer than the goal of {}, even on an idle machine",
                       format_ms(service.ms), service.basis, format_ms(*load.p99_ms));
  return fmt::format(
      "collecting {} rows and running them take {} at the 99th percentile even with idle instances, longer "
      "than the goal of {}; use a smaller batch",
      service.batch, format_ms(most.p99_ms), format_ms(*load.p99_ms));
}

}  // namespace

Capacity with_instances(const Load& load, const Service& service, int64_t instances) {
  double batch = number(service.batch);
  Capacity result;
  result.service = service;
  result.instances = instances;
  Queue queue{
      .arrivals = load.rows_per_s / batch / 1e3, .service = service.ms, .servers = instances};  // in milliseconds
  result.utilisation = queue.utilisation();
  result.fill_ms = 1e3 * (batch - 1) / load.rows_per_s;
  result.idle_ms = service.ms + result.fill_ms;
  BatchTimes times{.mean_wait_ms = mean_wait_constant(queue), .p99_wait_ms = wait_quantile_constant(queue, kShare)};
  times.p99_ms = times.p99_wait_ms + service.ms;
  if (service.batch > 1 && result.utilisation < 1) times = batch_times(load, service, instances);
  result.mean_wait_ms = times.mean_wait_ms;
  result.p99_wait_ms = times.p99_wait_ms;
  result.p99_ms = times.p99_ms;
  bool in_time = !load.p99_ms || result.p99_ms <= *load.p99_ms;
  result.met = result.utilisation <= load.most_utilisation && in_time;
  return result;
}

Capacity capacity(const Load& load, const Service& service, int64_t instances_per_machine) {
  double offered = load.rows_per_s / number(service.batch) * service.ms / 1e3;
  int64_t low = std::max<int64_t>(
      1, static_cast<int64_t>(std::min(std::ceil(offered / load.most_utilisation), number(kMostInstances))));
  int64_t high = low;
  Capacity result = with_instances(load, service, low);
  while (!result.met && high < kMostInstances) {  // the wait decreases with more instances: double, then bisect
    low = high + 1;
    high *= 2;
    result = with_instances(load, service, high);
    if (load.p99_ms && result.p99_wait_ms <= 0 && !result.met) {
      result.reason = why_never(load, service, result);
      break;
    }
  }
  while (result.met && low < high) {
    int64_t middle = low + (high - low) / 2;
    Capacity tried = with_instances(load, service, middle);
    if (tried.met) {
      high = middle;
      result = tried;
    } else {
      low = middle + 1;
    }
  }
  if (!result.met && result.reason.empty())
    result.reason = fmt::format("{} instances are not enough", result.instances);
  result.instances_per_machine = instances_per_machine;
  result.machines = (result.instances + instances_per_machine - 1) / instances_per_machine;
  return result;
}

Capacity best_capacity(const Load& load, const std::vector<Service>& services, int64_t instances_per_machine) {
  auto rank = [](const Capacity& c) {
    return c.met ? std::tuple(0, number(c.machines), number(c.instances), c.p99_ms)
                 : std::tuple(1, c.idle_ms, 0.0, 0.0);
  };
  Capacity best = capacity(load, services.front(), instances_per_machine);
  for (size_t i = 1; i < services.size(); ++i)
    if (Capacity next = capacity(load, services[i], instances_per_machine); rank(next) < rank(best)) best = next;
  return best;
}

}  // namespace ridge::sizing
