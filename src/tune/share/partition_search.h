// PartitionSearch: which partition to measure together next, when to stop, and which is best. Fed with numbers; it sees no clock, no
// engine.
//
// The most promising first, by what each model did alone corrected by how far the partitions measured so far fell short of that,
// until none that is left can be expected to win; then the contenders again, for longer, until they can be told apart. A
// partition is judged by its gain over the untuned models measured in turn with it. Anytime: best() may be asked after any
// report(). The same reports give the same choices. One thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tune/search.h"
#include "tune/share/co_located_model.h"
#include "tune/share/partitions.h"

namespace ridge::tune::share {

// Everything known about a measured partition.
struct PartitionStanding {
  PartitionOption entry;
  std::vector<Figures> figures;  // of each model, beside the others: mean over the trials
  std::vector<Fulfilment> fulfilments;
  Score score;
  std::vector<double> gains;  // ln(value ÷ untuned value), per round
  Gain gain;
  double memory_bytes = 0;  // by how much the process grew for it, the largest of the trials
  int trials = 0;
};

using PartitionProbe = ProbeOf<Partition>;

class PartitionSearch {
 public:
  // `max_trials` 0 = no limit.
  PartitionSearch(std::vector<CoLocatedModel> members, PartitionSpace space, int max_trials = 0);

  // The next measurement, or nothing when more would not help. `spent` as for Search.
  std::optional<PartitionProbe> next(double spent);
  void report(const Partition& partition, const CoLocatedTrial& trial);
  void withdraw(const Partition& partition, const SkipReason& reason);

  // Of those that meet all goals the one with the highest lower bound of its gain; if none does, the one closest to them.
  std::optional<PartitionStanding> best() const;
  const std::vector<PartitionStanding>& measured() const { return measured_; }
  const std::vector<CoLocatedModel>& members() const { return members_; }
  std::vector<SkipCount> skipped() const;
  size_t candidates() const;  // that the space held, left out ones too
  int trials() const { return trials_; }

 private:
  enum class State { kUntried, kMeasured, kWithdrawn };

  std::optional<PartitionProbe> explore() const;
  std::optional<PartitionProbe> refine() const;
  double believed(const PartitionOption& entry) const;
  SkipReason cannot_win(const PartitionOption& entry) const;
  std::vector<const PartitionStanding*> ranking() const;
  size_t index_of(const Partition& partition) const;

  std::vector<CoLocatedModel> members_;
  PartitionSpace space_;
  int max_trials_;
  int trials_ = 0;
  std::vector<State> state_;                 // parallel to space_.entries
  std::vector<PartitionStanding> measured_;  // in order of first measurement
  std::vector<SkipCount> withdrawn_;
};

}  // namespace ridge::tune::share
