#include "tune/share/co_located_tuner.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace ridge::tune::share {
namespace {

// A Problem of search_and_confirm.h.
struct SeveralModels {
  using Candidate = Partition;
  using Trial = CoLocatedTrial;
  PartitionSearch& search;
  InterleavedBenchmark& benchmark;
  Store* store;  // of explore() alone

  std::span<const CoLocatedModel> members() const { return search.members(); }
  Clock& clock() { return benchmark.clock(); }
  std::optional<PartitionProbe> next(double spent) { return search.next(spent); }
  Result<CoLocatedTrial> measure(const Partition& partition, Effort effort) {
    return benchmark.measure(partition, effort);
  }
  std::optional<CoLocatedTrial> recall(const Partition& partition, int ordinal) {
    const std::optional<Json> found = store->find(partition_text(members(), partition), ordinal);
    if (!found) return std::nullopt;
    Result<CoLocatedTrial> trial = co_located_trial_from_json(*found);
    return trial ? std::optional(std::move(*trial)) : std::nullopt;
  }
  void keep(const Partition& partition, int ordinal, const CoLocatedTrial& trial) {
    store->keep(partition_text(members(), partition), ordinal, to_json(trial));
  }
  bool report(const Partition& partition, const CoLocatedTrial& trial) {
    search.report(partition, trial);
    return trial.failure.empty();
  }
  void withdraw(const Partition& partition, const SkipReason& reason) { search.withdraw(partition, reason); }
  std::optional<Leader<Partition>> leader() const {
    const std::optional<PartitionStanding> best = search.best();
    if (!best) return std::nullopt;
    return Leader<Partition>{best->entry.partition, best->score.met, best->gain};
  }
  Partition untuned() const { return untuned_partition(members().size()); }
  // The untuned models are judged as they ran beside each other.
  bool untuned_meets(const CoLocatedTrial& trial) const { return untuned_score(members(), trial).met; }
  bool meets(const Partition& partition, const CoLocatedTrial& trial) const {
    return score_of(members(), partition, candidate_figures(trial)).met;
  }
  Gain gain(const Partition&, const CoLocatedTrial& trial) const { return gain_of(gains_of(trial, members())); }
  static size_t rounds(const CoLocatedTrial& trial) { return trial.rounds.size(); }
  std::string describe(const Partition& partition) const {
    return "together: " + describe_partition(members(), partition);
  }
  std::string so_far() const {
    const std::optional<PartitionStanding> best = search.best();
    if (!best) return "";
    return fmt::format("; best {:.2f}×{}", best->gain.ratio, best->score.met ? "" : ", goals not yet met");
  }
};

}  // namespace

Result<CoLocatedExploration> explore(PartitionSearch& search, InterleavedBenchmark& benchmark, Store& store,
                                     const TuneOptions& options) {
  SeveralModels problem{search, benchmark, &store};
  return explore(problem, options);
}

Result<CoLocatedDecision> confirm(PartitionSearch& search, InterleavedBenchmark& benchmark,
                                  const CoLocatedExploration& explored, const CoLocatedTrial& untuned,
                                  const TuneOptions& options) {
  SeveralModels problem{search, benchmark, nullptr};
  return confirm(problem, explored, untuned, options);
}

Score untuned_score(std::span<const CoLocatedModel> members, const CoLocatedTrial& trial) {
  return score_of(members, untuned_partition(members.size()), untuned_figures(trial));
}

Partition untuned_partition(size_t models) { return Partition(models, baseline_candidate()); }

}  // namespace ridge::tune::share
