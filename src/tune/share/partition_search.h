// PartitionSearch: chooses the next partition to measure, when to stop, and the best. Fed with numbers; it reads no
// clock and knows no engine.
//
// The most promising first, by each model's solo result corrected by the shortfall of the partitions measured so far,
// until no remaining one can be expected to win; then the contenders again, for longer, until they can be told apart. A
// partition is judged by its gain over the interleaved untuned models. Anytime: best() may be called after any
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
  double memory_bytes = 0;  // growth of the process, the largest of the trials
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

  // The partition with the highest lower bound of its gain among those that meet all goals; else the closest one.
  std::optional<PartitionStanding> best() const;
  const std::vector<PartitionStanding>& measured() const { return measured_; }
  const std::vector<CoLocatedModel>& members() const { return members_; }
  std::vector<SkipCount> skipped() const;
  size_t candidates() const;  // in the space, including skipped ones
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
