#include "tune/share/partition_search.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "measure/statistics.h"

namespace ridge::tune::share {
namespace {

constexpr double kContendFrom = 0.6;  // share of the budget after which nothing new is tried
constexpr size_t kMostContenders = 3;
constexpr int kMostLongTrials = 3;  // of each contender at most, beyond the first
// A partition expected to have this much less value than the best may still win: mutual slowdown differs.
constexpr double kExpectationSlack = 1.15;
// Solo figures are noisy; a limit derived from them is trusted beyond this.
constexpr double kLimitSlack = 1.10;

// All trials have equal weight: their numbers of runs hardly differ, and short ones show the same machine.
void add_figures(PartitionStanding& standing, const CoLocatedTrial& trial) {
  const std::vector<Figures> now = candidate_figures(trial);
  standing.figures.resize(now.size());
  for (size_t i = 0; i < now.size(); ++i) merge(standing.figures[i], now[i], 1.0 / (standing.trials + 1));
}

bool ranks_above(const PartitionStanding& a, const PartitionStanding& b) {
  if (a.score.met != b.score.met) return a.score.met;
  if (!a.score.met && a.score.closeness != b.score.closeness) return a.score.closeness > b.score.closeness;
  return a.gain.ratio > b.gain.ratio;
}

}  // namespace

PartitionSearch::PartitionSearch(std::vector<CoLocatedModel> members, PartitionSpace space, int max_trials)
    : members_(std::move(members)),
      space_(std::move(space)),
      max_trials_(max_trials),
      state_(space_.entries.size(), State::kUntried) {}

std::optional<PartitionProbe> PartitionSearch::next(double spent) {
  if (spent >= 1 || (max_trials_ > 0 && trials_ >= max_trials_)) return std::nullopt;
  if (max_trials_ > 0) spent = std::max(spent, static_cast<double>(trials_) / max_trials_);
  if (spent < kContendFrom || measured_.empty())
    if (std::optional<PartitionProbe> probe = explore()) return probe;
  return refine();
}

// The predicted value: the partition's expectation, less the shortfall of similar partitions.
double PartitionSearch::believed(const PartitionOption& entry) const {
  std::vector<double> shortfalls;
  for (const PartitionStanding& other : measured_)
    if (other.entry.in_turns == entry.in_turns)
      shortfalls.push_back(std::log(other.score.value / other.entry.expectation.value));
  return entry.expectation.value * (shortfalls.empty() ? 1 : std::exp(measure::mean(shortfalls)));
}

std::optional<PartitionProbe> PartitionSearch::explore() const {
  const PartitionOption* chosen = nullptr;
  double most = 0;
  for (size_t i = 0; i < space_.entries.size(); ++i) {
    const PartitionOption& entry = space_.entries[i];
    if (state_[i] != State::kUntried || cannot_win(entry)) continue;
    // Already sorted by promise; the first of equal ones. One that should meet the goals precedes one that should not.
    if (chosen != nullptr && chosen->expectation.met && !entry.expectation.met) continue;
    const double value = believed(entry);
    if (chosen != nullptr && value <= most) continue;
    chosen = &entry;
    most = value;
  }
  if (chosen == nullptr) return std::nullopt;
  return PartitionProbe{chosen->partition, Effort::kShort, 0};
}

// The leader and its contenders, the least measured first.
std::optional<PartitionProbe> PartitionSearch::refine() const {
  const std::vector<const PartitionStanding*> ranked = ranking();
  if (ranked.empty()) return std::nullopt;
  const PartitionStanding& leader = *ranked.front();
  const PartitionStanding* chosen = nullptr;
  for (size_t rank = 0; rank < std::min(kMostContenders, ranked.size()); ++rank) {
    const PartitionStanding& contender = *ranked[rank];
    const bool open = rank == 0 ? contender.trials < 2 : contender.gain.high > leader.gain.low;
    if (contender.score.met != leader.score.met || !open || contender.trials > kMostLongTrials) continue;
    if (chosen == nullptr || contender.trials < chosen->trials) chosen = &contender;
  }
  if (chosen == nullptr) return std::nullopt;
  return PartitionProbe{chosen->entry.partition, Effort::kLong, chosen->trials};
}

// Why measuring the partition cannot change the result; empty = it can.
SkipReason PartitionSearch::cannot_win(const PartitionOption& entry) const {
  const std::optional<PartitionStanding> leader = best();
  if (!leader || !leader->score.met) return {};
  const double surely = leader->score.value * leader->gain.low / leader->gain.ratio;
  if (kLimitSlack * entry.most_value < surely)
    return {"bound-below-best", "even if the models did not disturb each other, it would be behind the best measured"};
  if (kExpectationSlack * believed(entry) < leader->score.value) return kUnpromising;
  if (!entry.expectation.met) return {"misses-goals", "not expected to meet the goals that the best measured meets"};
  return {};
}

void PartitionSearch::report(const Partition& partition, const CoLocatedTrial& trial) {
  const size_t index = index_of(partition);
  ++trials_;
  if (!trial.failure.empty()) return withdraw(partition, {"failed", "failed: " + trial.failure});
  state_[index] = State::kMeasured;
  auto known = std::find_if(measured_.begin(), measured_.end(),
                            [&](const PartitionStanding& other) { return other.entry.partition == partition; });
  PartitionStanding& standing = known == measured_.end() ? measured_.emplace_back() : *known;
  standing.entry = space_.entries[index];
  add_figures(standing, trial);
  const std::vector<double> gains = gains_of(trial, members_);
  standing.gains.insert(standing.gains.end(), gains.begin(), gains.end());
  standing.gain = gain_of(standing.gains);
  standing.memory_bytes = std::max(standing.memory_bytes, trial.memory_bytes);
  standing.fulfilments.clear();
  for (size_t i = 0; i < members_.size(); ++i)
    standing.fulfilments.push_back(fulfilment_of(members_[i].goal, partition[i], standing.figures[i]));
  standing.score = score_of(members_, partition, standing.figures);
  ++standing.trials;
}

void PartitionSearch::withdraw(const Partition& partition, const SkipReason& reason) {
  state_[index_of(partition)] = State::kWithdrawn;
  count_skip(withdrawn_, reason);
  std::erase_if(measured_, [&](const PartitionStanding& other) { return other.entry.partition == partition; });
}

std::optional<PartitionStanding> PartitionSearch::best() const {
  const PartitionStanding* best = nullptr;
  for (const PartitionStanding& other : measured_) {
    const bool both_meet = best != nullptr && best->score.met && other.score.met;
    if (best == nullptr || (both_meet ? other.gain.low > best->gain.low : ranks_above(other, *best))) best = &other;
  }
  return best ? std::optional(*best) : std::nullopt;
}

std::vector<SkipCount> PartitionSearch::skipped() const {
  std::vector<SkipCount> result = space_.skipped;
  result.insert(result.end(), withdrawn_.begin(), withdrawn_.end());
  for (size_t i = 0; i < state_.size(); ++i) {
    if (state_[i] != State::kUntried) continue;
    const SkipReason reason = cannot_win(space_.entries[i]);
    count_skip(result, reason ? reason : kBudgetEnded);
  }
  return result;
}

size_t PartitionSearch::candidates() const {
  size_t count = space_.entries.size();
  for (const SkipCount& skipped : space_.skipped) count += static_cast<size_t>(skipped.count);
  return count;
}

std::vector<const PartitionStanding*> PartitionSearch::ranking() const {
  std::vector<const PartitionStanding*> ranked;
  for (const PartitionStanding& other : measured_) ranked.push_back(&other);
  std::stable_sort(ranked.begin(), ranked.end(), [](auto* a, auto* b) { return ranks_above(*a, *b); });
  return ranked;
}

size_t PartitionSearch::index_of(const Partition& partition) const {
  for (size_t i = 0; i < space_.entries.size(); ++i)
    if (space_.entries[i].partition == partition) return i;
  assert(false && "only partitions of the space may be reported");
  return 0;
}

}  // namespace ridge::tune::share
