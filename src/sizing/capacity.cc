#include "sizing/capacity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/units.h"
#include "sizing/queueing.h"

namespace ridge::sizing {
namespace {

constexpr double kShare = 0.99;
constexpr int64_t kMostInstances = 10'000'000;

double number(int64_t value) { return static_cast<double>(value); }

// The time until `count` random arrivals with 99 % probability: the quantile of Erlang's distribution, by the Wilson-Hilferty
// approximation (of a χ² of 2 · count degrees; 1931), good to 2 % from one arrival on.
double arrivals_quantile_ms(double count, double rows_per_s) {
  if (count <= 0) return 0;
  constexpr double kNormal = 2.3263478740408408;  // 99 % quantile of the normal distribution
  double ninth = 1 / (9 * count);
  return 1e3 / rows_per_s * count * std::pow(1 - ninth + kNormal * std::sqrt(ninth), 3);
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
  Queue queue{load.rows_per_s / batch / 1e3, service.ms, instances};  // in milliseconds
  result.utilisation = queue.utilisation();
  result.fill_ms = 1e3 * (batch - 1) / load.rows_per_s;
  result.idle_ms = service.ms + result.fill_ms;
  result.mean_wait_ms = mean_wait_constant(queue);
  result.p99_wait_ms = wait_quantile_constant(queue, kShare);
  result.p99_ms = arrivals_quantile_ms(batch - 1, load.rows_per_s) + result.p99_wait_ms + service.ms;
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
