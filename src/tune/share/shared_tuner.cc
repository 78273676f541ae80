#include "tune/share/shared_tuner.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/clock.h"

namespace ridge::tune::share {
namespace {

constexpr int kSplitConfirmations = 3;
constexpr const char* kSplitNotBorneOut = "ahead in the search, not borne out by the confirmation";

bool is_over(const TuneOptions& options) { return options.interrupted && options.interrupted(); }

void report_progress(const TuneOptions& options, const std::string& step, double share) {
  if (options.progress) options.progress(step, std::min(share, 1.0));
}

std::string best_so_far(const SplitSearch& search) {
  const std::optional<SplitStanding> best = search.best();
  if (!best) return "";
  return fmt::format("; best {:.2f}×{}", best->gain.ratio, best->score.met ? "" : ", goals not met yet");
}

std::optional<SharedTrial> find_split(Store& store, const std::string& key, int ordinal) {
  const std::optional<Json> found = store.find(key, ordinal);
  if (!found) return std::nullopt;
  Result<SharedTrial> trial = shared_trial_from_json(*found);
  return trial ? std::optional(std::move(*trial)) : std::nullopt;
}

// The untuned models are judged as they ran beside each other.
Choice choose_split(const SplitSearch& search, bool untuned_meets) {
  const std::optional<SplitStanding> leader = search.best();
  if (leader && leader->score.met && (!untuned_meets || leader->gain.low > 1)) return Choice::kCandidate;
  return untuned_meets ? Choice::kBaseline : Choice::kNone;
}

// Nothing more is measured. The leader's last trial is `last`, if it is of the leader.
SharedDecision unconfirmed(const SplitSearch& search, Choice choice, const SharedTrial& untuned) {
  const std::optional<SplitStanding> leader = search.best();
  SharedDecision decision{choice, untuned_split(search.members().size()), kNoGain, untuned, false};
  if (choice == Choice::kBaseline || !leader) return decision;
  decision.split = leader->entry.split;
  decision.gain = leader->gain;
  decision.trial = leader->last;
  return decision;
}

}  // namespace

Result<SharedExplored> explore_splits(SplitSearch& search, SharedContest& contest, Store& store,
                                      const TuneOptions& options) {
  SharedExplored explored;
  const TimePoint begin = SteadyClock::now();
  double paid_before = 0;  // [s] by earlier runs, for what the store gave
  auto spent = [&] { return (to_seconds(SteadyClock::now() - begin) + paid_before) / options.seconds; };
  while (const std::optional<SplitProbe> probe = search.next(spent())) {
    if ((explored.interrupted = is_over(options))) break;
    report_progress(options, "together: " + describe_split(search.members(), probe->split) + best_so_far(search),
                    spent());
    const std::string key = split_text(search.members(), probe->split);
    std::optional<SharedTrial> known = find_split(store, key, probe->ordinal);
    if (known) {
      paid_before += known->seconds;
      ++explored.reused;
    } else {
      Result<SharedTrial> measured = contest.measure(probe->split, probe->effort);
      if ((explored.interrupted = !measured && measured.error().code == Code::kCancelled)) break;
      if (!measured) return measured.error();
      known = std::move(*measured);
      if (known->failure.empty()) store.keep(key, probe->ordinal, to_json(*known));
    }
    search.report(probe->split, *known);
    ++explored.trials;
  }
  return explored;
}

Score untuned_score(std::span<const Member> members, const SharedTrial& trial) {
  return score_of(members, untuned_split(members.size()), untuned_figures(trial));
}

Result<SharedDecision> confirm_split(SplitSearch& search, SharedContest& contest, const SharedExplored& explored,
                                     const SharedTrial& untuned, const TuneOptions& options) {
  SharedTrial last = untuned;
  bool untuned_meets = untuned_score(search.members(), untuned).met;
  for (int i = 0; i < kSplitConfirmations; ++i) {
    const Choice choice = choose_split(search, untuned_meets);
    const bool over = explored.interrupted || is_over(options);
    if (over || choice == Choice::kNone) {
      SharedDecision decision = unconfirmed(search, choice, last);
      decision.interrupted = over;
      return decision;
    }
    if (choice == Choice::kBaseline) break;
    const Split split = search.best()->entry.split;
    report_progress(options, "confirming " + describe_split(search.members(), split), 1);
    Result<SharedTrial> trial = contest.measure(split, Effort::kConfirm);
    if (!trial && trial.error().code == Code::kCancelled) {
      SharedDecision decision = unconfirmed(search, choice, last);
      decision.interrupted = true;
      return decision;
    }
    if (!trial) return trial.error();
    search.report(split, *trial);
    if (!trial->failure.empty()) continue;  // report() took it out
    last = std::move(*trial);
    untuned_meets = untuned_score(search.members(), last).met;
    const Gain gain = gain_of(gains_of(last, search.members()));
    const bool meets = score_of(search.members(), split, split_figures(last)).met;
    if (meets && (!untuned_meets || gain.low > 1))
      return SharedDecision{Choice::kCandidate, split, gain, std::move(last), false};
    search.withdraw(split, kSplitNotBorneOut);
  }
  return unconfirmed(search, untuned_meets ? Choice::kBaseline : Choice::kNone, last);
}

}  // namespace ridge::tune::share
