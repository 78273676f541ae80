// Search and confirm: a search chooses and a benchmark measures until the budget is spent; then the leader is measured
// again against the untuned models, longer. For one model (tuner.h) and for co-located ones (share/co_located_tuner.h).
//
// A Problem provides:
//   using Candidate, Trial;
//   Clock& clock();
//   std::optional<ProbeOf<Candidate>> next(double spent);      // as Search::next()
//   Result<Trial> measure(const Candidate&, Effort);
//   std::optional<Trial> recall(const Candidate&, int ordinal);   // from the store
//   void keep(const Candidate&, int ordinal, const Trial&);       // in it
//   bool report(const Candidate&, const Trial&);               // to the search; false: the candidate failed and is out
//   void withdraw(const Candidate&, const SkipReason& reason);
//   std::optional<Leader<Candidate>> leader() const;           // the best so far
//   Candidate untuned() const;
//   bool untuned_meets(const Trial&) const;                    // the goal, by the trial's untuned side
//   bool meets(const Candidate&, const Trial&) const;          // the same of the candidate's
//   Gain gain(const Candidate&, const Trial&) const;
//   static size_t rounds(const Trial&);
//   std::string describe(const Candidate&) const;
//   std::string so_far() const;                                // about the leader, for the progress line; may be empty
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "tune/search.h"

namespace ridge::tune {

struct TuneOptions {
  Goal goal;            // of one model; co-located models have theirs
  double seconds = 60;  // for the search; time already paid for by the store counts. The confirmation comes on top
  std::function<bool()> interrupted;                                         // polled; may be empty
  std::function<void(const std::string& step, double share_done)> progress;  // may be empty
  std::function<bool()> late = {};  // polled: the time of what follows the search is over; may be empty

  bool stopped() const { return interrupted && interrupted(); }
  bool out_of_time() const { return late && late(); }
  void report(const std::string& step, double share_done) const {
    if (progress) progress(step, std::min(share_done, 1.0));
  }
};

// Called with every trial of a search, from the store or newly measured.
template <typename Candidate, typename Trial>
struct ExplorationOf {
  std::vector<std::pair<Candidate, Trial>> trials;
  int reused = 0;  // of them from the store
  bool interrupted = false;
};

enum class Choice {
  kCandidate,  // better than the untuned models with confidence, or the only one that meets the goal
  kBaseline,   // nothing is better with confidence
  kNone,       // nothing meets the goal
};

template <typename Candidate, typename Trial>
struct DecisionOf {
  Choice choice = Choice::kBaseline;
  Candidate candidate;       // of kNone: the one closest to the goal
  Gain gain;                 // of the candidate, from `trial`
  Trial trial;               // kBaseline: its untuned side is what counts
  bool interrupted = false;  // decided from the exploration, without confirmation
  bool confirmed = true;     // false: the time was over before
};

template <typename Candidate>
struct Leader {
  Candidate candidate;
  bool meets = true;  // the goal
  Gain gain;
};

// The result so far, without measuring; pure.
template <typename Candidate>
Choice choose(const std::optional<Leader<Candidate>>& leader, bool untuned_meets) {
  if (leader && leader->meets && (!untuned_meets || leader->gain.low > 1)) return Choice::kCandidate;
  return untuned_meets ? Choice::kBaseline : Choice::kNone;
}

template <typename Problem>
Result<ExplorationOf<typename Problem::Candidate, typename Problem::Trial>> explore(Problem& problem,
                                                                                    const TuneOptions& options) {
  ExplorationOf<typename Problem::Candidate, typename Problem::Trial> explored;
  const TimePoint begin = problem.clock().now();
  double paid_before = 0;  // [s] by earlier runs, for trials from the store
  auto spent = [&] {
    const double used = to_seconds(problem.clock().now() - begin) + paid_before;
    return used < options.seconds ? used / options.seconds : 1;
  };
  while (auto probe = problem.next(spent())) {
    if ((explored.interrupted = options.stopped())) break;
    options.report(problem.describe(probe->candidate) + problem.so_far(), spent());
    auto trial = problem.recall(probe->candidate, probe->ordinal);
    if (trial) {
      paid_before += trial->seconds;
      ++explored.reused;
    } else {
      auto measured = problem.measure(probe->candidate, probe->effort);
      if ((explored.interrupted = !measured && measured.error().code == Code::kCancelled)) break;
      if (!measured) return measured.error();
      trial = std::move(*measured);
      // A failure may pass with more memory; it is retried next time.
      if (trial->failure.empty()) problem.keep(probe->candidate, probe->ordinal, *trial);
    }
    problem.report(probe->candidate, *trial);
    explored.trials.emplace_back(std::move(probe->candidate), std::move(*trial));
  }
  return explored;
}

// The candidate's trial with the most rounds; null if none succeeded.
template <typename Problem>
const typename Problem::Trial* longest_trial(
    const ExplorationOf<typename Problem::Candidate, typename Problem::Trial>& explored,
    const typename Problem::Candidate& candidate) {
  const typename Problem::Trial* longest = nullptr;
  for (const auto& [other, trial] : explored.trials)
    if (other == candidate && trial.failure.empty() &&
        (longest == nullptr || Problem::rounds(trial) >= Problem::rounds(*longest)))
      longest = &trial;
  return longest;
}

constexpr int kConfirmations = 5;
constexpr const char* kNotConfirmedInTime = "the winner was not confirmed by a longer measurement";

// Measures the leader once more interleaved with the untuned models, longer and never from the store. One that is not
// better with confidence is withdrawn; where the longer measurement lowers it behind another one, that one is confirmed
// next. The answer leads what was measured; where the time is over before it was confirmed, it says so. `untuned` is
// the untuned models against themselves. Interrupted: what was confirmed, else the leader.
template <typename Problem>
Result<DecisionOf<typename Problem::Candidate, typename Problem::Trial>> confirm(
    Problem& problem, const ExplorationOf<typename Problem::Candidate, typename Problem::Trial>& explored,
    const typename Problem::Trial& untuned, const TuneOptions& options) {
  using Decision = DecisionOf<typename Problem::Candidate, typename Problem::Trial>;
  typename Problem::Trial last = untuned;
  std::vector<Decision> confirmed;
  auto unconfirmed = [&](Choice choice, bool interrupted) {
    const auto leader = problem.leader();
    if (choice == Choice::kBaseline || !leader) return Decision{choice, problem.untuned(), kNoGain, last, interrupted};
    const auto* trial = longest_trial<Problem>(explored, leader->candidate);
    return Decision{choice, leader->candidate, leader->gain, trial ? *trial : last, interrupted};
  };
  auto leader_is_confirmed = [&] {
    const auto leader = problem.leader();
    auto own = std::find_if(confirmed.begin(), confirmed.end(),
                            [&](const Decision& other) { return leader && other.candidate == leader->candidate; });
    if (own != confirmed.end()) std::rotate(own, own + 1, confirmed.end());  // the answer is the last
    return own != confirmed.end();
  };
  bool stopped = false, late = false;
  int tries = 0;
  for (; tries < kConfirmations && !leader_is_confirmed(); ++tries) {
    stopped = explored.interrupted || options.stopped();
    late = options.out_of_time();
    if (stopped || late || choose(problem.leader(), problem.untuned_meets(last)) != Choice::kCandidate) break;
    const auto candidate = problem.leader()->candidate;
    options.report("confirming " + problem.describe(candidate), 1);
    auto trial = problem.measure(candidate, Effort::kConfirm);
    if ((stopped = !trial && trial.error().code == Code::kCancelled)) break;
    if (!trial) return trial.error();
    if (!problem.report(candidate, *trial)) continue;
    last = std::move(*trial);
    const Gain gain = problem.gain(candidate, last);
    if (problem.meets(candidate, last) && (!problem.untuned_meets(last) || is_sure(gain)))
      confirmed.push_back({Choice::kCandidate, candidate, gain, last, false});
    else
      problem.withdraw(candidate, kNotConfirmed);
  }
  if (leader_is_confirmed() || (stopped && !confirmed.empty())) return std::move(confirmed.back());
  Choice choice = choose(problem.leader(), problem.untuned_meets(last));
  if (choice != Choice::kCandidate && !confirmed.empty()) return std::move(confirmed.back());
  if (tries == kConfirmations && confirmed.empty())  // none of them held
    choice = problem.untuned_meets(last) ? Choice::kBaseline : Choice::kNone;
  if (choice == Choice::kCandidate && !stopped && problem.untuned_meets(last) && !is_sure(problem.leader()->gain))
    choice = Choice::kBaseline;
  Decision decision = unconfirmed(choice, stopped);
  decision.confirmed = choice != Choice::kCandidate || stopped;
  return decision;
}

// A winner to which nothing is objected: `objection(decision)` gives a Result<SkipReason>, whose text is empty if the
// winner holds. One that does not is withdrawn, and `confirm()` gives the next; an objection to the untuned models
// leaves no answer. Interrupted: the decision so far.
template <typename Confirm, typename Object, typename Withdraw>
auto confirm_unless(const Confirm& confirm, const Object& objection, const Withdraw& withdraw) -> decltype(confirm()) {
  while (true) {
    RIDGE_ASSIGN(auto decision, confirm());
    if (decision.interrupted) return decision;
    const Result<SkipReason> why_not = objection(decision);
    decision.interrupted = !why_not && why_not.error().code == Code::kCancelled;
    if (decision.interrupted) return decision;
    if (!why_not) return why_not.error();
    if (why_not->text.empty() || decision.choice == Choice::kNone) return decision;
    if (decision.choice == Choice::kBaseline) {
      decision.choice = Choice::kNone;
      return decision;
    }
    RIDGE_TRY(withdraw(decision.candidate, *why_not));
  }
}

}  // namespace ridge::tune
