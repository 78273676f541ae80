// SplitSearch: which split to measure together next, when to stop, and which is best. Fed with numbers; it sees no clock, no
// engine.
//
// The most promising first, by what each model did alone corrected by how far the splits measured so far fell short of that,
// until none that is left can be expected to win; then the contenders again, for longer, until they can be told apart. A
// split is judged by its gain over the untuned models measured in turn with it. Anytime: best() may be asked after any
// report(). The same reports give the same choices. One thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tune/search.h"
#include "tune/share/shared_trial.h"
#include "tune/share/splits.h"

namespace ridge::tune::share {

// Everything known about a measured split.
struct SplitStanding {
  SplitEntry entry;
  std::vector<ModelFigures> figures;  // of each model, beside the others: mean over the trials
  std::vector<Fulfilment> fulfilments;
  Score score;
  std::vector<double> gains;  // ln(value ÷ untuned value), per pair
  Gain gain;
  double memory_bytes = 0;  // by how much the process grew for it, the largest of the trials
  SharedTrial last;         // the last of its trials
  int trials = 0;
};

struct SplitProbe {
  Split split;
  Effort effort = Effort::kShort;
  int ordinal = 0;  // how often it was measured before
};

class SplitSearch {
 public:
  // `max_trials` 0 = no limit.
  SplitSearch(std::vector<Member> members, SplitSpace space, int max_trials = 0);

  // The next measurement, or nothing when more would not help. `spent` as for Search.
  std::optional<SplitProbe> next(double spent);
  void report(const Split& split, const SharedTrial& trial);
  void withdraw(const Split& split, const std::string& reason);

  // Of those that meet all goals the one with the highest lower bound of its gain; if none does, the one closest to them.
  std::optional<SplitStanding> best() const;
  const std::vector<SplitStanding>& measured() const { return measured_; }
  const std::vector<Member>& members() const { return members_; }
  std::vector<Skipped> skipped() const;
  size_t candidates() const;  // that the space held, left out ones too
  int trials() const { return trials_; }

 private:
  enum class State { kUntried, kMeasured, kWithdrawn };

  std::optional<SplitProbe> explore() const;
  std::optional<SplitProbe> refine() const;
  double believed(const SplitEntry& entry) const;
  std::string cannot_win(const SplitEntry& entry) const;
  std::vector<const SplitStanding*> ranking() const;
  size_t index_of(const Split& split) const;

  std::vector<Member> members_;
  SplitSpace space_;
  int max_trials_;
  int trials_ = 0;
  std::vector<State> state_;             // parallel to space_.entries
  std::vector<SplitStanding> measured_;  // in order of first measurement
  std::vector<Skipped> withdrawn_;
};

}  // namespace ridge::tune::share
