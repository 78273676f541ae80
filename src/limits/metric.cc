#include "limits/metric.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "limits/rates.h"

namespace ridge::limits {
namespace {

// Calibration time at a length; a disturbed sample only reads long, so several samples, fewer for slow kernels.
constexpr int kLooks = 3;
constexpr double kLongLooks = 0.2;  // [s] together

Result<double> shortest_look(KernelVariant& variant) {
  double shortest = 0, together = 0;
  for (int look = 0; look < kLooks && together < kLongLooks; ++look) {
    RIDGE_ASSIGN(const std::vector<Burst> bursts, variant.run(variant.repeats, 1));
    const double seconds = std::max(1e-9, bursts.front().seconds);
    shortest = look == 0 ? seconds : std::min(shortest, seconds);
    together += seconds;
  }
  return shortest;
}

// kBurstsPerVisit bursts, then the check.
Status visit(KernelVariant& variant, double burst_seconds, const Clock& clock) {
  if (variant.repeats == 0) RIDGE_TRY(calibrate(variant, burst_seconds));
  const TimePoint begin = clock.now();
  RIDGE_ASSIGN(const std::vector<Burst> bursts, variant.run(variant.repeats, kBurstsPerVisit));
  variant.visits.push_back({begin, clock.now()});
  for (const Burst& burst : bursts) {
    variant.rates.push_back(burst.units / std::max(1e-9, burst.seconds));
    variant.clocks.push_back(burst.clock_hz);
    variant.seconds.push_back(burst.seconds);
  }
  return variant.check ? variant.check() : Status{};
}

// Until one has run, if `late`.
void visit_all(Metric& metric, double burst_seconds, bool late, const Clock& clock) {
  std::erase_if(metric.variants, [&](KernelVariant& variant) {
    if (variant.dropped || (late && metric.winner())) return false;
    const Status done = visit(variant, burst_seconds, clock);
    if (!done) metric.reason = done.error().message;
    return !done;
  });
}

void drop_hopeless(Metric& metric) {
  const double enough = kHopeless * metric.best_rate();
  for (KernelVariant& variant : metric.variants) variant.dropped = metric.best_rate(variant) < enough;
}

class Rounds {
 public:
  Rounds(const std::vector<Metric*>& metrics, const RoundOptions& options, const Clock& clock)
      : metrics_(metrics), options_(options), clock_(clock), rule_(options.least_rounds, options.most_seconds) {}
  void run() {
    while (rule_.another(used()) && !stopped()) {
      rule_.round_done(run_round());
      if (rule_.trial_over())
        for (Metric* metric : metrics_) drop_hopeless(*metric);
    }
  }

 private:
  double used() const { return to_seconds(clock_.now() - begin_); }
  bool stopped() const { return options_.interrupted && options_.interrupted(); }
  // True if a metric clearly improved.
  bool run_round() {
    bool grew = false;
    for (size_t i = 0; i < metrics_.size() && !stopped(); ++i) {
      Metric& metric = *metrics_[i];
      const double share = static_cast<double>(i) / static_cast<double>(metrics_.size());
      if (options_.progress) options_.progress(metric.name, rule_.share_done(used(), share));
      const double before = metric.best_rate();
      visit_all(metric, options_.burst_seconds, used() >= options_.most_seconds, clock_);
      grew |= metric.best_rate() > before * kStillGrowing;
    }
    return grew;
  }

  const std::vector<Metric*>& metrics_;
  const RoundOptions& options_;
  const Clock& clock_;
  RoundRule rule_;
  TimePoint begin_ = clock_.now();
};

}  // namespace

RunBursts one_by_one(std::function<Result<Burst>(int64_t repeats)> run) {
  return [run = std::move(run)](int64_t repeats, int count) -> Result<std::vector<Burst>> {
    std::vector<Burst> bursts;
    for (int i = 0; i < count; ++i) {
      RIDGE_ASSIGN(bursts.emplace_back(), run(repeats));
    }
    return bursts;
  };
}

double Metric::best_rate(const KernelVariant& variant) const {
  return sustained ? sustained_rate(variant.rates) : limits::best_rate(variant.rates);
}

double Metric::best_rate() const {
  const KernelVariant* best = winner();
  return best ? best_rate(*best) : 0;
}

const KernelVariant* Metric::winner() const {
  const KernelVariant* best = nullptr;
  for (const KernelVariant& variant : variants)
    if (!variant.rates.empty() && (!best || best_rate(variant) > best_rate(*best))) best = &variant;
  return best;
}

Status calibrate(KernelVariant& variant, double burst_seconds) {
  variant.repeats = 1;
  RIDGE_TRY(variant.run(1, 1));  // loads, compiles, touches
  if (variant.check) RIDGE_TRY(variant.check());
  for (;;) {
    RIDGE_ASSIGN(const double seconds, shortest_look(variant));
    // The last sample is near enough to measure the length.
    const bool near = seconds > burst_seconds / 4 || variant.repeats >= variant.most_repeats;
    const double wanted = static_cast<double>(variant.repeats) * burst_seconds / seconds;
    const double step = near ? wanted : std::min(wanted, 32.0 * static_cast<double>(variant.repeats));
    variant.repeats = std::clamp<int64_t>(std::llround(std::min(step, 1e15)), 1, variant.most_repeats);
    if (near) return {};
  }
}

void measure_in_rounds(const std::vector<Metric*>& metrics, const RoundOptions& options, const Clock& clock) {
  Rounds(metrics, options, clock).run();
}

MetricResult result_of(const Metric& metric) {
  MetricResult result;
  const KernelVariant* best = metric.winner();
  if (!best) {
    result.reason = metric.reason.empty() ? "not measured: the time was up before its turn" : metric.reason;
    return result;
  }
  result.best = metric.best_rate(*best);
  result.typical = typical_rate(best->rates);
  result.spread_percent = spread_percent(best->rates);
  result.bursts = static_cast<int>(best->rates.size());
  result.burst_seconds = typical_rate(best->seconds);
  result.clock_hz = clock_at(*result.best, best->rates, best->clocks);
  result.conditions = best->conditions;
  if (best->how) result.conditions += ", " + best->how();
  return result;
}

}  // namespace ridge::limits
