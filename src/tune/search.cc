#include "tune/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>

#include "measure/statistics.h"
#include "tune/knee.h"

namespace ridge::tune {
namespace {

constexpr double kRefineFrom = 0.75;  // share of the budget after which nothing new is tried
constexpr size_t kContenders = 4;     // measured again in the last step
constexpr int kLongTrials = 4;        // and each at most this often
// For a whole grid more, and more often: the luckiest of many short trials is seldom the best.
constexpr size_t kGridContenders = 12;
constexpr int kGridLongTrials = 12;
// Required expected improvement of ln(gain) for a new candidate: small for the first tenth of the space (at least some
// points), the allowed share of a search, and much larger beyond.
constexpr double kWorthMeasuring = 0.002;
constexpr double kWorthMore = 0.08;
constexpr double kUsualShare = 0.10;
constexpr size_t kUsualLeast = 8;
// After kFewest measurements the search ends once no untried candidate's upper bound (one-sided 90 % of the posterior)
// beats the best by kLittle.
constexpr size_t kFewest = 5;
constexpr double kLittle = 0.03;
constexpr double kUpperEnd = 1.28;
// Contenders stay as they are once taking the leader costs less than this, as an expectation of ln(gain).
constexpr double kNegligible = 0.005;
constexpr double kGridNegligible = 0.0005;
// Long trials, for each candidate measured; at least four.
constexpr double kLongShare = 0.5;
// Two measurements of one candidate differ by this much beyond their own noise (threads and memory lie elsewhere).
constexpr double kOpeningDeviation = 0.01;
// Prior noise of one pair of slices, as if from this many pairs.
constexpr double kUsualNoise = 0.03;
constexpr double kUsualNoisePairs = 4;
// How far the engine's defaults are from the candidate that spells them out; and a 99th percentile of few runs from the
// true one.
constexpr double kBaselineDeviation = 0.1;
constexpr double kTailDeviation = 0.15;

// The means of all, weighted by the candidate's runs.
void add(Outcome& all, const Outcome& more) {
  const auto before = static_cast<double>(all.candidate.samples), runs = static_cast<double>(more.candidate.samples);
  const double newer = before + runs > 0 ? runs / (before + runs) : 1;
  merge(all.candidate, more.candidate, newer);
  merge(all.baseline, more.baseline, newer);
  all.gains.insert(all.gains.end(), more.gains.begin(), more.gains.end());
  all.rate_gains.insert(all.rate_gains.end(), more.rate_gains.begin(), more.rate_gains.end());
}

// An interval whose ends are further apart tells nothing.
constexpr double kMostApart = 10;

// Variance of one pair's ln(gain), from all candidates together: one candidate's four pairs are too few.
double pair_variance(std::span<const Standing> measured) {
  double squares = kUsualNoisePairs * kUsualNoise * kUsualNoise;
  double degrees = kUsualNoisePairs;
  for (const Standing& standing : measured) {
    const double deviation = measure::standard_deviation(standing.outcome.gains);
    const double pairs = static_cast<double>(standing.outcome.gains.size());
    if (pairs < 2) continue;
    squares += (pairs - 1) * deviation * deviation;
    degrees += pairs - 1;
  }
  return squares / degrees;
}

// Pairs behind its gain; at least one.
double pairs_of(const Standing& standing) {
  return static_cast<double>(std::max<size_t>(standing.outcome.gains.size(), 1));
}

// Half of the 95 % interval of ln(gain), from the noise of all: intervals from two or three pairs of one candidate are
// wide or narrow by chance, which would decide between candidates.
double likely_error(const Standing& standing, double variance) {
  return 1.96 * std::sqrt(variance / pairs_of(standing));
}

// The 99th percentile in the time in which the untuned model, beside it, ran a row.
double scaled_p99(const Standing& standing) {
  return standing.outcome.candidate.p99_ms / 1e3 * standing.outcome.baseline.rows_per_s;
}

double rows_in_flight(const Candidate& candidate) { return static_cast<double>(candidate.batch * candidate.instances); }

// The first of the entries nearest to the engine's defaults: all threads in one instance, batch 1, no options.
std::optional<size_t> nearest_to_baseline(std::span<const PricedCandidate> entries) {
  const Candidate baseline = baseline_candidate();
  std::optional<size_t> nearest;
  for (size_t i = 0; i < entries.size(); ++i) {
    Candidate spelt_out = baseline;
    spelt_out.threads = entries[i].candidate.threads;
    if (entries[i].candidate != spelt_out) continue;
    if (!nearest || entries[*nearest].candidate.threads < spelt_out.threads) nearest = i;
  }
  return nearest;
}

// The gain that the entry's limit allows; nothing where limits do not bound the objective.
std::optional<double> most_gain(const PricedCandidate& entry, const Outcome& seen, Objective objective) {
  switch (objective) {
    case Objective::kBalanced:
    case Objective::kThroughput: return entry.max_rows_per_s / seen.baseline.rows_per_s;
    case Objective::kLatency: return seen.baseline.p50_ms / entry.bound_ms;
    case Objective::kEnergy:
    case Objective::kCost: break;
  }
  return std::nullopt;
}

bool same_group(const Candidate& a, const Candidate& b) { return a.engine == b.engine && a.variant == b.variant; }

bool same_options(const Candidate& a, const Candidate& b) {
  return a.spin == b.spin && a.inter_op_threads == b.inter_op_threads && a.block_base == b.block_base &&
         a.options == b.options;
}

// True if a, run otherwise like b, has at least its rows, instances and threads.
bool demands_no_less(const Candidate& a, const Candidate& b) {
  return same_group(a, b) && same_options(a, b) && a.batch >= b.batch && a.instances >= b.instances &&
         a.threads >= b.threads;
}

}  // namespace

Gain gain_of(std::span<const double> log_ratios) {
  Gain gain;
  if (log_ratios.empty()) return gain;
  double centre = measure::mean(log_ratios);
  double half = measure::half_width(log_ratios, 0.95);
  gain.ratio = std::exp(centre);
  gain.low = std::exp(centre - half);
  gain.high = std::exp(centre + half);
  return gain;
}

bool is_sure(const Gain& gain) { return gain.low > 1 && gain.high <= kMostApart * gain.low; }

std::string ends_text(const Gain& gain, std::string_view label) {
  if (gain.low <= 0 || !std::isfinite(gain.high) || gain.low >= gain.high) return "";
  if (gain.high > kMostApart * gain.low) return " (uncertain)";
  return fmt::format(" ({}{:.3g}–{:.3g})", label, gain.low, gain.high);
}

measure::Interval Standing::rows_per_s_ci95() const {
  if (rate.low <= 0 || !std::isfinite(rate.high)) return {};
  const double per_gain = outcome.candidate.rows_per_s / rate.ratio;
  return {per_gain * rate.low, per_gain * rate.high};
}

Search::Search(Space space, const Goal& goal, int max_trials, Strategy strategy)
    : space_(std::move(space)),
      goal_(goal),
      max_trials_(max_trials),
      strategy_(strategy),
      state_(space_.entries.size(), State::kUntried),
      gains_(points_of(space_.entries, goal.objective)),
      tails_(points_of(space_.entries, Objective::kThroughput)),
      like_baseline_(nearest_to_baseline(space_.entries)) {}

std::optional<Probe> Search::next(double spent) {
  if (spent >= 1 || !trials_left()) return std::nullopt;
  if (max_trials_ > 0) spent = std::max(spent, static_cast<double>(trials_) / max_trials_);
  if (spent < kRefineFrom || measured_.empty())
    if (std::optional<Probe> probe = explore()) return probe;
  return refine();
}

std::optional<Probe> Search::explore() {
  const std::optional<size_t> chosen = strategy_ == Strategy::kFull ? first_untried() : most_promising();
  converged_ = !chosen;
  if (!chosen) return std::nullopt;
  return Probe{space_.entries[*chosen].candidate, Effort::kShort, 0};
}

std::optional<size_t> Search::first_untried() const {
  for (size_t i = 0; i < space_.entries.size(); ++i)
    if (state_[i] == State::kUntried && !bound_to_fail(space_.entries[i])) return i;
  return std::nullopt;
}

std::optional<size_t> Search::most_promising() {
  learn();
  const std::optional<double> best = best_expected();
  const std::optional<double> closest = closest_expected();
  const Standing* leader = best_measured();
  if (settled(best, leader)) return std::nullopt;
  std::optional<size_t> chosen;
  const auto usual = static_cast<size_t>(kUsualShare * static_cast<double>(space_.entries.size()));
  double most = measured_.size() < std::max(usual, kUsualLeast) ? kWorthMeasuring : kWorthMore;
  for (size_t i = 0; i < space_.entries.size(); ++i) {
    if (state_[i] != State::kUntried) continue;
    const double expected_gain = this->expected_gain(i, best, closest);
    if (expected_gain <= most || cannot_win(space_.entries[i], leader)) continue;
    // After a failure one row alone shows whether this variant runs at all.
    if (space_.entries[i].candidate.batch > 1 && !only_failures(space_.entries[i]).empty()) continue;
    most = expected_gain;
    chosen = i;
  }
  return chosen;
}

// True if what is left can only be better by a little.
bool Search::settled(const std::optional<double>& best, const Standing* leader) const {
  if (!best || measured_.size() < kFewest) return false;
  for (size_t i = 0; i < space_.entries.size(); ++i) {
    if (state_[i] != State::kUntried) continue;
    const Posterior posterior = worth(i);
    if (posterior.mean + kUpperEnd * posterior.deviation > *best + kLittle && !cannot_win(space_.entries[i], leader))
      return false;
  }
  return true;
}

void Search::learn() {
  std::vector<Observation> gains, tails;
  const double variance = pair_variance(measured_);
  for (const Standing& standing : measured_) {
    const Outcome& seen = standing.outcome;
    const size_t point = index_of(standing.candidate);
    gains.push_back(
        {point, measure::mean(seen.gains), variance / pairs_of(standing) + kOpeningDeviation * kOpeningDeviation});
    if (!goal_.has_limits()) continue;
    const double rows_per_s = 1e3 * rows_in_flight(standing.candidate) / seen.candidate.p99_ms;
    tails.push_back(
        {point, std::log(rows_per_s / seen.baseline.rows_per_s), kTailDeviation * kTailDeviation / standing.trials});
  }
  if (like_baseline_ && state_[*like_baseline_] == State::kUntried)
    gains.push_back({*like_baseline_, 0, kBaselineDeviation * kBaselineDeviation});
  gains_.learn(gains);
  tails_.learn(tails);
}

// The maximised figure, in ln units.
double Search::worth(const Standing& standing) const {
  const double gain = measure::mean(standing.outcome.gains);
  return balanced() ? log_power(gain, scaled_p99(standing)) : gain;
}

// The same, expected. By Little's law the rows in flight take their number over the rate.
Posterior Search::worth(size_t index) const {
  Posterior posterior = gains_.posterior(index);
  if (!balanced()) return posterior;
  posterior.mean =
      log_power(posterior.mean, rows_in_flight(space_.entries[index].candidate) / std::exp(posterior.mean));
  posterior.deviation *= power_per_rate();
  return posterior;
}

// The expectation of the best that meets the goal; before any measurement, the baseline.
std::optional<double> Search::best_expected() const {
  std::optional<double> best;
  if (measured_.empty()) best = 0;
  for (const Standing& standing : measured_) {
    if (!standing.feasible) continue;
    const double mean = worth(index_of(standing.candidate)).mean;
    best = std::max(best.value_or(mean), mean);
  }
  return best;
}

// −ln of the least 99th percentile, in the unit of tails_.
std::optional<double> Search::closest_expected() const {
  std::optional<double> closest;
  if (!goal_.p99_ms) return closest;
  for (const Standing& standing : measured_) {
    const double mean = closeness(index_of(standing.candidate)).mean;
    closest = std::max(closest.value_or(mean), mean);
  }
  return closest;
}

// −ln(99th percentile [s] · the baseline's rows/s).
Posterior Search::closeness(size_t index) const {
  Posterior posterior = tails_.posterior(index);
  posterior.mean -= std::log(rows_in_flight(space_.entries[index].candidate));
  return posterior;
}

// Expected improvement from measuring the entry, in ln units. While nothing meets the goal, in the distance to it.
double Search::expected_gain(size_t index, const std::optional<double>& best,
                             const std::optional<double>& closest) const {
  if (!goal_.has_limits()) return expected_improvement(worth(index), best.value_or(0));
  if (measured_.empty())  // no times are known yet: the shortest run is the safest
    return !goal_.p99_ms || space_.entries[index].candidate.batch == 1 ? expected_improvement(worth(index), 0) : 0;
  if (best) return likely_feasible(index) * expected_improvement(worth(index), *best);
  if (closest) return expected_improvement(closeness(index), *closest);
  double fastest = -HUGE_VAL;
  for (const Standing& standing : measured_) fastest = std::max(fastest, measure::mean(standing.outcome.gains));
  return expected_improvement(gains_.posterior(index), fastest);
}

// The probability that the entry meets the goal's limits.
double Search::likely_feasible(size_t index) const {
  const double untuned_rows_per_s = measured_.front().outcome.baseline.rows_per_s;
  double likely = 1;
  if (goal_.p99_ms) likely *= probability_above(closeness(index), -std::log(*goal_.p99_ms / 1e3 * untuned_rows_per_s));
  if (goal_.rows_per_s)
    likely *= probability_above(tails_.posterior(index), std::log(*goal_.rows_per_s / untuned_rows_per_s));
  return likely;
}

// Measures the leader and its contenders again, the least measured first, until the leader is clear.
std::optional<Probe> Search::refine() {
  std::vector<const Standing*> ranked = ranking();
  if (ranked.empty()) return std::nullopt;
  const Standing& leader = *ranked.front();
  const double variance = pair_variance(measured_);
  const bool grid = strategy_ == Strategy::kFull;
  const size_t contenders = std::min(grid ? kGridContenders : kContenders, ranked.size());
  const int most_trials = 1 + (grid ? kGridLongTrials : kLongTrials);
  const int measured = static_cast<int>(measured_.size());
  if (!grid && trials_ - measured >= std::max(4, static_cast<int>(kLongShare * measured))) return std::nullopt;
  const Standing* chosen = nullptr;
  auto lost = [&](const Standing& contender) {  // expected, by not taking it
    const double deviation = std::sqrt(variance / pairs_of(contender) + variance / pairs_of(leader));
    const double scale = balanced() ? power_per_rate() : 1;
    return expected_improvement({worth(contender), scale * deviation}, worth(leader));
  };
  for (size_t rank = 0; rank < contenders; ++rank) {
    const Standing& contender = *ranked[rank];
    const bool open = rank == 0 ? contender.trials < 2 : lost(contender) > (grid ? kGridNegligible : kNegligible);
    if (contender.feasible != leader.feasible || !open || contender.trials >= most_trials) continue;
    if (chosen == nullptr || contender.trials < chosen->trials) chosen = &contender;
  }
  if (chosen == nullptr) return std::nullopt;
  if (chosen != &leader && leader.trials < chosen->trials) chosen = &leader;
  return Probe{chosen->candidate, Effort::kLong, chosen->trials};
}

SkipReason Search::misses_goal(const PricedCandidate& entry) const {
  if (!goal_.p99_ms) return {};
  for (const Standing& other : measured_) {
    Candidate smaller = entry.candidate;
    smaller.batch = other.candidate.batch;
    if (other.candidate == smaller && smaller.batch < entry.candidate.batch &&
        other.outcome.candidate.p50_ms > *goal_.p99_ms)
      return {"smaller-batch-misses-goal", "a smaller batch already misses the p99 goal"};
  }
  return {};
}

// Failures of the entry's engine and variant as long as it never ran.
std::vector<const Search::Failure*> Search::only_failures(const PricedCandidate& entry) const {
  for (const Standing& other : measured_)
    if (same_group(other.candidate, entry.candidate)) return {};
  std::vector<const Failure*> found;
  for (const Failure& failure : failures_)
    if (same_group(failure.candidate, entry.candidate)) found.push_back(&failure);
  return found;
}

// A failed candidate fails again with more rows or instances; one that cannot run one row cannot run.
SkipReason Search::bound_to_fail(const PricedCandidate& entry) const {
  for (const Failure& failure : failures_)
    if (demands_no_less(entry.candidate, failure.candidate))
      return {"smaller-failed", "a smaller one failed: " + failure.reason};
  for (const Failure* failure : only_failures(entry))
    if (failure->candidate.batch == 1)
      return {"variant-failed", "others of this engine and variant failed: " + failure->reason};
  return {};
}

// Why measuring the entry cannot change the result; empty = it can.
SkipReason Search::cannot_win(const PricedCandidate& entry, const Standing* leader) const {
  if (SkipReason reason = bound_to_fail(entry)) return reason;
  if (SkipReason reason = misses_goal(entry)) return reason;
  if (leader == nullptr || !leader->feasible || entry.bound_ms <= 0) return {};
  std::optional<double> most = most_gain(entry, leader->outcome, goal_.objective);
  if (!most) return {};
  double most_worth = std::log(*most * limit_slack_);
  if (balanced()) most_worth = log_power(most_worth, rows_in_flight(entry.candidate) / std::exp(most_worth));
  const double surely = worth(*leader) - measure::mean(leader->outcome.gains) + std::log(leader->gain.low);
  if (most_worth >= surely) return {};
  return {"bound-below-best", "its physical limit is below the best measured"};
}

void Search::report(const Candidate& candidate, const Outcome& outcome) {
  size_t index = index_of(candidate);
  ++trials_;
  if (!outcome.failure.empty()) {
    failures_.push_back({candidate, outcome.failure});
    return withdraw(candidate, {"failed", "failed: " + outcome.failure});
  }
  state_[index] = State::kMeasured;
  Standing* known = standing(candidate);
  if (known == nullptr) known = &measured_.emplace_back(Standing{candidate, {}, {}, space_.entries[index], true, 0});
  add(known->outcome, outcome);
  known->gain = gain_of(known->outcome.gains);
  known->rate = known->outcome.rate_gains.empty() ? known->gain : gain_of(known->outcome.rate_gains);
  const Fulfilment fulfilment = fulfilment_of(goal_.limits(), candidate, known->outcome.candidate);
  known->feasible = fulfilment.met();
  known->undecided = undecided(goal_.limits(), candidate, known->outcome.candidate);
  known->closeness = fulfilment.ratio;
  ++known->trials;
  const PricedCandidate& entry = space_.entries[index];
  if (entry.max_rows_per_s > 0)
    limit_slack_ = std::max(limit_slack_, known->outcome.candidate.rows_per_s / entry.max_rows_per_s);
}

void Search::withdraw(const Candidate& candidate, const SkipReason& reason) {
  state_[index_of(candidate)] = State::kWithdrawn;
  count_skip(skipped_, reason);
  std::erase_if(measured_, [&](const Standing& other) { return other.candidate == candidate; });
}

std::optional<Standing> Search::best() const {
  const Standing* best = best_measured();
  return best ? std::optional(*best) : std::nullopt;
}

// Standings that may lead: where some meet the goal and are better than the untuned model with confidence, only these.
std::vector<const Standing*> Search::eligible() const {
  const auto sure = [](const Standing& standing) { return standing.feasible && standing.gain.low > 1; };
  const bool any = std::any_of(measured_.begin(), measured_.end(), sure);
  std::vector<const Standing*> result;
  for (const Standing& standing : measured_)
    if (!any || sure(standing)) result.push_back(&standing);
  return result;
}

const Standing* Search::best_measured() const {
  if (balanced())
    if (const Standing* knee = knee_of_feasible()) return knee;
  const double variance = pair_variance(measured_);
  auto surely = [&](const Standing& standing) {
    return measure::mean(standing.outcome.gains) - likely_error(standing, variance);
  };
  const Standing* best = nullptr;
  for (const Standing* other : eligible()) {
    if (best == nullptr || other->feasible != best->feasible) {
      if (best == nullptr || other->feasible) best = other;
    } else if (other->feasible ? surely(*other) > surely(*best) : other->closeness > best->closeness) {
      best = other;
    }
  }
  return best;
}

// Null if none is feasible.
const Standing* Search::knee_of_feasible() const {
  const double variance = pair_variance(measured_);
  std::vector<const Standing*> feasible;
  std::vector<TradeOff> trades;
  for (const Standing* standing : eligible()) {
    if (!standing->feasible) continue;
    feasible.push_back(standing);
    trades.push_back(
        {measure::mean(standing->outcome.gains), likely_error(*standing, variance), scaled_p99(*standing)});
  }
  const std::optional<size_t> chosen = knee(trades);
  return chosen ? feasible[*chosen] : nullptr;
}

std::vector<SkipCount> Search::skipped() const {
  std::vector<SkipCount> result = space_.skipped;
  for (const SkipCount& entry : skipped_)
    for (int i = 0; i < entry.count; ++i) count_skip(result, entry.reason);
  const Standing* leader = best_measured();
  for (size_t i = 0; i < state_.size(); ++i) {
    if (state_[i] != State::kUntried) continue;
    const SkipReason reason = cannot_win(space_.entries[i], leader);
    count_skip(result, reason ? reason : converged_ ? kUnpromising : kBudgetEnded);
  }
  return result;
}

std::vector<const Standing*> Search::ranking() const {
  std::vector<const Standing*> ranked;
  for (const Standing& other : measured_) ranked.push_back(&other);
  std::stable_sort(ranked.begin(), ranked.end(), [this](const Standing* a, const Standing* b) {
    if (a->feasible != b->feasible) return a->feasible;
    return a->feasible ? worth(*a) > worth(*b) : a->closeness > b->closeness;
  });
  return ranked;
}

Standing* Search::standing(const Candidate& candidate) {
  for (Standing& other : measured_)
    if (other.candidate == candidate) return &other;
  return nullptr;
}

size_t Search::index_of(const Candidate& candidate) const {
  for (size_t i = 0; i < space_.entries.size(); ++i)
    if (space_.entries[i].candidate == candidate) return i;
  assert(false && "only candidates of the space may be reported");
  return 0;
}

}  // namespace ridge::tune
