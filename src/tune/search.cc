#include "tune/search.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "measure/statistics.h"

namespace ridge::tune {
namespace {

constexpr double kRefineFrom = 0.75;  // share of the budget after which nothing new is tried
constexpr size_t kExpand = 3;         // the best this many have all their neighbours tried
constexpr size_t kContenders = 4;     // measured again in the last step
constexpr int kLongTrials = 4;        // and each at most so often

double weighted(double a, int64_t samples_a, double b, int64_t samples_b) {
  int64_t samples = samples_a + samples_b;
  if (samples == 0) return b;
  return (a * static_cast<double>(samples_a) + b * static_cast<double>(samples_b)) / static_cast<double>(samples);
}

void add(Outcome& all, const Outcome& more) {
  auto merge = [&](double Outcome::*member) {
    all.*member = weighted(all.*member, all.samples, more.*member, more.samples);
  };
  for (double Outcome::*member : {&Outcome::rows_per_s, &Outcome::p50_ms, &Outcome::p99_ms,
                                  &Outcome::baseline_rows_per_s, &Outcome::baseline_p50_ms, &Outcome::baseline_p99_ms})
    merge(member);
  all.gains.insert(all.gains.end(), more.gains.begin(), more.gains.end());
  all.samples += more.samples;
}

bool ranks_before(const Standing& a, const Standing& b) {
  if (a.feasible != b.feasible) return a.feasible;
  if (!a.feasible) return a.outcome.p99_ms < b.outcome.p99_ms;
  return a.gain.ratio > b.gain.ratio;
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

Search::Search(Space space, const Goal& goal, int max_trials)
    : space_(std::move(space)),
      goal_(goal),
      max_trials_(max_trials),
      state_(space_.entries.size(), State::kUntried),
      expanded_(space_.entries.size(), false) {
  survey();
}

// The layouts at the corners (all threads in one instance; one thread in each of many) and between, each at the
// smallest and at a middle batch, without engine options.
void Search::survey() {
  int most_threads = 1;
  int64_t most_batch = 1;
  for (const Entry& entry : space_.entries) {
    most_threads = std::max(most_threads, entry.candidate.threads);
    most_batch = std::max(most_batch, entry.candidate.batch);
  }
  auto log_distance = [](auto a, auto b) {
    return std::abs(std::log2(static_cast<double>(a) / static_cast<double>(b)));
  };
  auto middle = [](auto most) { return std::sqrt(static_cast<double>(most)); };
  for (double threads : {static_cast<double>(most_threads), 1.0, middle(most_threads)})
    for (double batch : {1.0, middle(most_batch)}) {
      size_t chosen = space_.entries.size();
      double least = std::numeric_limits<double>::infinity();
      for (size_t i = 0; i < space_.entries.size(); ++i) {
        const Candidate& candidate = space_.entries[i].candidate;
        if (candidate.spin != plan::Spin::kDefault || candidate.inter_op_threads > 1 || candidate.block_base > 0)
          continue;
        double idle = log_distance(candidate.threads * candidate.instances, most_threads);
        double distance = log_distance(candidate.threads, threads) + log_distance(candidate.batch, batch) + idle;
        if (distance < least) least = distance, chosen = i;
      }
      if (chosen == space_.entries.size() || state_[chosen] != State::kUntried) continue;
      state_[chosen] = State::kQueued;
      queue_.push_back(chosen);
    }
}

std::optional<Probe> Search::next(double spent) {
  if (spent >= 1 || !trials_left()) return std::nullopt;
  if (spent < kRefineFrom || measured_.empty()) {
    do {
      if (std::optional<Probe> probe = from_queue()) return probe;
    } while (climb());
  }
  return refine();
}

std::optional<Probe> Search::from_queue() {
  while (!queue_.empty()) {
    size_t index = queue_.front();
    queue_.erase(queue_.begin());
    const Entry& entry = space_.entries[index];
    std::string reason = cannot_win(entry);
    if (reason.empty()) return Probe{entry.candidate, Effort::kShort, 0};
    state_[index] = State::kSkipped;
    count_skip(skipped_, reason);
  }
  return std::nullopt;
}

// Queues the untried neighbours of the best candidate whose neighbours were not tried yet. False when the best few have
// all been looked around.
bool Search::climb() {
  std::vector<const Standing*> ranked = ranking();
  for (size_t rank = 0; rank < std::min(kExpand, ranked.size()); ++rank) {
    size_t centre = index_of(ranked[rank]->candidate);
    if (expanded_[centre]) continue;
    expanded_[centre] = true;
    for (size_t i = 0; i < space_.entries.size(); ++i)
      if (state_[i] == State::kUntried && adjacent(space_.entries[centre].candidate, space_.entries[i].candidate)) {
        state_[i] = State::kQueued;
        queue_.push_back(i);
      }
    return true;
  }
  return false;
}

// Measures the leader and those that may still be better again, the least measured first, until the leader stands
// alone.
std::optional<Probe> Search::refine() {
  std::vector<const Standing*> ranked = ranking();
  if (ranked.empty()) return std::nullopt;
  const Standing& leader = *ranked.front();
  const Standing* chosen = nullptr;
  for (size_t rank = 0; rank < std::min(kContenders, ranked.size()); ++rank) {
    const Standing& contender = *ranked[rank];
    bool open = rank == 0 ? contender.trials < 2 : contender.gain.high > leader.gain.low;
    if (contender.feasible != leader.feasible || !open || contender.trials > kLongTrials) continue;
    if (chosen == nullptr || contender.trials < chosen->trials) chosen = &contender;
  }
  if (chosen == nullptr) return std::nullopt;
  if (chosen != &leader && leader.trials < chosen->trials) chosen = &leader;
  return Probe{chosen->candidate, Effort::kLong, chosen->trials};
}

// Why measuring the entry cannot change the result; empty = it can.
std::string Search::cannot_win(const Entry& entry) const {
  if (goal_.p99_ms)
    for (const Standing& other : measured_) {
      const Candidate& candidate = other.candidate;
      bool smaller = candidate.threads == entry.candidate.threads && candidate.instances == entry.candidate.instances &&
                     candidate.batch < entry.candidate.batch;
      if (smaller && other.outcome.p50_ms > *goal_.p99_ms) return "a smaller batch already misses the p99 goal";
    }
  std::optional<Standing> leader = best();
  if (!leader || !leader->feasible || entry.bound_ms <= 0) return "";
  const Outcome& seen = leader->outcome;
  double most = goal_.objective == Objective::kThroughput ? entry.max_rows_per_s / seen.baseline_rows_per_s
                                                          : seen.baseline_p50_ms / entry.bound_ms;
  if (most * limit_slack_ < leader->gain.low) return "its physical limit is below the best measured";
  return "";
}

void Search::report(const Candidate& candidate, const Outcome& outcome) {
  size_t index = index_of(candidate);
  ++trials_;
  if (!outcome.failure.empty()) return withdraw(candidate, "failed: " + outcome.failure);
  state_[index] = State::kMeasured;
  Standing* known = standing(candidate);
  if (known == nullptr) known = &measured_.emplace_back(Standing{candidate, {}, {}, true, 0});
  add(known->outcome, outcome);
  known->gain = gain_of(known->outcome.gains);
  known->feasible = !goal_.p99_ms || known->outcome.p99_ms <= *goal_.p99_ms;
  ++known->trials;
  const Entry& entry = space_.entries[index];
  if (entry.max_rows_per_s > 0) limit_slack_ = std::max(limit_slack_, known->outcome.rows_per_s / entry.max_rows_per_s);
}

void Search::withdraw(const Candidate& candidate, const std::string& reason) {
  state_[index_of(candidate)] = State::kWithdrawn;
  count_skip(skipped_, reason);
  std::erase_if(measured_, [&](const Standing& other) { return other.candidate == candidate; });
}

std::optional<Standing> Search::best() const {
  const Standing* best = nullptr;
  for (const Standing& other : measured_) {
    if (best == nullptr || other.feasible != best->feasible) {
      if (best == nullptr || other.feasible) best = &other;
    } else if (other.feasible ? other.gain.low > best->gain.low : other.outcome.p99_ms < best->outcome.p99_ms) {
      best = &other;
    }
  }
  return best ? std::optional(*best) : std::nullopt;
}

std::vector<Standing> Search::pareto() const {
  std::vector<Standing> result;
  for (const Standing& a : measured_) {
    bool beaten = std::any_of(measured_.begin(), measured_.end(), [&](const Standing& b) {
      const Outcome& x = a.outcome;
      const Outcome& y = b.outcome;
      return y.rows_per_s >= x.rows_per_s && y.p50_ms <= x.p50_ms &&
             (y.rows_per_s > x.rows_per_s || y.p50_ms < x.p50_ms);
    });
    if (!beaten) result.push_back(a);
  }
  std::sort(result.begin(), result.end(),
            [](const Standing& a, const Standing& b) { return a.outcome.rows_per_s > b.outcome.rows_per_s; });
  return result;
}

std::vector<Skipped> Search::skipped() const {
  std::vector<Skipped> result = space_.skipped;
  for (const Skipped& entry : skipped_)
    for (int i = 0; i < entry.count; ++i) count_skip(result, entry.reason);
  for (size_t i = 0; i < state_.size(); ++i) {
    if (state_[i] != State::kUntried && state_[i] != State::kQueued) continue;
    std::string reason = cannot_win(space_.entries[i]);
    count_skip(result, reason.empty() ? "not near any of the best, or out of budget" : reason);
  }
  return result;
}

std::vector<const Standing*> Search::ranking() const {
  std::vector<const Standing*> ranked;
  for (const Standing& other : measured_) ranked.push_back(&other);
  std::stable_sort(ranked.begin(), ranked.end(), [](auto* a, auto* b) { return ranks_before(*a, *b); });
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
  assert(false && "only candidates of the space are reported");
  return 0;
}

}  // namespace ridge::tune
