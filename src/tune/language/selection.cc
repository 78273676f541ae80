#include "tune/language/selection.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ridge::tune::language {
namespace {

// A line's error is within 10 % of most steps (docs/contracts.md), and drafts may shorten one candidate's answers more
// than another's.
constexpr double kMostBehind = 0.15;
constexpr double kAlike = 0.01;
constexpr size_t kMostOfDecoder = 3;

const SkipReason kSlower = {"predicted-slower", "predicted more than 15 % behind the best"};
const SkipReason kSame = {"predicted-alike", "predicted within 1 % of a candidate with fewer settings"};
const SkipReason kOthers = {"others-first", "three others of its form and threads are predicted faster"};

// Goodput first; where no candidate has any, tokens per second.
std::pair<double, double> rank_of(const llm::cpu::Figures& f) {
  return {f.goodput_per_s.value_or(0), f.output_tokens_per_s};
}

bool near(double a, double b) { return std::abs(a - b) <= kAlike * std::max(std::abs(a), std::abs(b)); }

bool alike(const llm::cpu::Figures& a, const llm::cpu::Figures& b) {
  return near(score_of(a), score_of(b)) && near(a.ttft_ms.p99, b.ttft_ms.p99) && near(a.tpot_ms.p99, b.tpot_ms.p99);
}

bool same_decoder(const Candidate& candidate, const Group& group) {
  return candidate.form == group.form && candidate.threads == group.threads;
}

bool is_behind(const llm::cpu::Figures& figures, const llm::cpu::Figures& best) {
  const bool goodput = best.goodput_per_s.value_or(0) > 0;
  const double own = goodput ? *figures.goodput_per_s : figures.output_tokens_per_s;
  return own < (1 - kMostBehind) * (goodput ? *best.goodput_per_s : best.output_tokens_per_s);
}

// The best ones, and the best again without drafts.
void shorten(Group& group, std::vector<SkipCount>& skipped) {
  std::ranges::stable_sort(group.candidates, std::greater(), [](const Priced& p) { return rank_of(p.predicted); });
  for (; group.candidates.size() > kMostOfDecoder; group.candidates.pop_back()) count_skip(skipped, kOthers);
  Priced plain = group.candidates.front();
  plain.candidate.speculation = false;
  group.candidates.push_back(std::move(plain));
}

}  // namespace

std::vector<Candidate> settings_for(const Form& form, int threads, const llm::cpu::Load& load,
                                    const llm::cpu::Goals& goals) {
  int64_t most = 0;  // tokens that prompts can bring into a step
  for (const llm::Request& request : load.requests) most = std::max(most, request.prompt);
  const int64_t at_once = load.concurrency > 0 ? load.concurrency : static_cast<int64_t>(load.requests.size());
  most *= at_once;
  std::vector<Candidate> steps = {{.form = form, .threads = threads}};
  if (goals.tpot_ms) steps.push_back({.form = form, .threads = threads, .token_goal_ms = goals.tpot_ms});
  for (const int64_t tokens : {1024, 256, 2048, 128})
    if (tokens / 2 < most) steps.push_back({.form = form, .threads = threads, .step_tokens = tokens});
  std::vector<Candidate> all = steps;
  for (const int64_t part : {2, 4})
    if (at_once / part > 0 && at_once / part < Candidate{}.sequences)
      for (Candidate candidate : steps) {
        candidate.sequences = at_once / part;
        all.push_back(candidate);
      }
  return all;
}

Selection select(std::span<const Priced> priced) {
  Selection selection;
  if (priced.empty()) return selection;
  const llm::cpu::Figures& best =
      std::ranges::max_element(priced, {}, [](const Priced& p) { return rank_of(p.predicted); })->predicted;
  for (const Priced& one : priced) {
    if (is_behind(one.predicted, best)) {
      count_skip(selection.skipped, kSlower);
      continue;
    }
    auto group = std::ranges::find_if(selection.groups, [&](const Group& g) { return same_decoder(one.candidate, g); });
    if (group == selection.groups.end())
      group = selection.groups.insert(group, {one.candidate.form, one.candidate.threads, {}});
    if (std::ranges::any_of(group->candidates, [&](const Priced& p) { return alike(p.predicted, one.predicted); }))
      count_skip(selection.skipped, kSame);
    else
      group->candidates.push_back(one);
  }
  for (Group& group : selection.groups) shorten(group, selection.skipped);
  std::ranges::stable_sort(selection.groups, std::greater(),
                           [](const Group& group) { return rank_of(group.candidates.front().predicted); });
  return selection;
}

}  // namespace ridge::tune::language
