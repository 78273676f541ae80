#include "measure/compare.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>
#include <random>

#include "measure/statistics.h"

namespace ridge::measure {
namespace {

double widest_percent(const Comparison& comparison) {
  double widest = 0;
  for (const Standing& s : comparison.standings)
    widest = std::max(widest, 100 * (s.ratio_high - s.ratio_low) / 2 / s.ratio);
  return widest;
}

}  // namespace

Comparison standings_of(const std::vector<Contender>& contenders, const std::vector<std::vector<double>>& rates,
                        double confidence) {
  Comparison comparison;
  comparison.rounds = static_cast<int>(rates.size());
  for (size_t i = 0; i < contenders.size(); ++i) {
    std::vector<double> own, logarithms;
    for (const std::vector<double>& round : rates) {
      own.push_back(round[i]);
      logarithms.push_back(std::log(round[i] / round[0]));
    }
    double centre = mean(logarithms);
    double half = half_width(logarithms, confidence);
    comparison.standings.push_back(
        {contenders[i].name, median(own), std::exp(centre), std::exp(centre - half), std::exp(centre + half)});
  }
  return comparison;
}

Result<Comparison> compare(const std::vector<Contender>& contenders, const CompareOptions& options) {
  assert(!contenders.empty());
  const TimePoint begin = SteadyClock::now();
  std::mt19937_64 random(options.seed);
  std::vector<size_t> order(contenders.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::vector<std::vector<double>> rates;
  while (true) {
    std::shuffle(order.begin(), order.end(), random);
    std::vector<double> round(contenders.size());
    for (size_t i : order) {
      Result<double> rate = contenders[i].rate(options.slice);
      if (!rate) return wrap(rate.error(), contenders[i].name);
      if (!(*rate > 0))
        return Error{Code::kFailed, contenders[i].name + " did nothing in its slice; give it a longer one"};
      round[i] = *rate;
    }
    rates.push_back(std::move(round));
    Comparison comparison = standings_of(contenders, rates, options.confidence);
    comparison.converged =
        comparison.rounds >= options.min_rounds && widest_percent(comparison) <= options.half_width_percent;
    bool over = SteadyClock::now() - begin >= options.max_time || (options.interrupted && options.interrupted());
    if (comparison.converged || over) return comparison;
  }
}

}  // namespace ridge::measure
