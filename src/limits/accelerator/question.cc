#include "limits/accelerator/question.h"

#include <algorithm>
#include <cmath>

#include "limits/rates.h"

namespace ridge::limits::accelerator {

double Question::best_rate(const Candidate& candidate) const {
  return sustained ? sustained_rate(candidate.rates) : limits::best_rate(candidate.rates);
}

const Candidate* Question::winner() const {
  const Candidate* best = nullptr;
  for (const Candidate& candidate : candidates)
    if (!candidate.rates.empty() && (!best || best_rate(candidate) > best_rate(*best))) best = &candidate;
  return best;
}

Status start(Candidate& candidate) {
  candidate.repeats = 1;
  RIDGE_TRY(candidate.work(1));  // loads, compiles, touches
  if (candidate.check) RIDGE_TRY(candidate.check());
  for (;;) {
    RIDGE_ASSIGN(Burst burst, candidate.work(candidate.repeats));
    const double seconds = std::max(1e-9, burst.seconds);
    // The second look is from near enough to be a good measure of the length.
    const bool near = seconds > kBurstSeconds / 4 || candidate.repeats >= candidate.most_repeats;
    const double wanted = static_cast<double>(candidate.repeats) * kBurstSeconds / seconds;
    const double step = near ? wanted : std::min(wanted, 32.0 * static_cast<double>(candidate.repeats));
    candidate.repeats = std::clamp<int64_t>(std::llround(std::min(step, 1e15)), 1, candidate.most_repeats);
    if (near) return {};
  }
}

Status visit(Candidate& candidate) {
  if (candidate.repeats == 0) RIDGE_TRY(start(candidate));
  for (int i = 0; i < kBurstsPerVisit; ++i) {
    const TimePoint begin = SteadyClock::now();
    RIDGE_ASSIGN(Burst burst, candidate.work(candidate.repeats));
    candidate.windows.push_back({begin, SteadyClock::now()});
    candidate.seconds.push_back(burst.seconds);
    candidate.rates.push_back(burst.units / std::max(1e-9, burst.seconds));
    candidate.clocks.push_back(burst.clock_hz);
  }
  return candidate.check ? candidate.check() : Status{};
}

void visit_all(Question& question) {
  std::erase_if(question.candidates, [&](Candidate& candidate) {
    if (candidate.dropped) return false;
    Status done = visit(candidate);
    if (!done) question.reason = done.error().message;
    return !done;
  });
}

void drop_hopeless(Question& question) {
  const Candidate* best = question.winner();
  if (!best) return;
  const double enough = kHopeless * question.best_rate(*best);
  for (Candidate& candidate : question.candidates) candidate.dropped = question.best_rate(candidate) < enough;
}

Figure answer(const Question& question) {
  Figure figure;
  const Candidate* best = question.winner();
  if (!best) {
    figure.reason = question.reason.empty() ? "not measured: the time was up before its turn" : question.reason;
    return figure;
  }
  figure.best = question.best_rate(*best);
  figure.typical = typical_rate(best->rates);
  figure.spread_percent = spread_percent(best->rates);
  figure.bursts = static_cast<int>(best->rates.size());
  figure.burst_seconds = typical_rate(best->seconds);
  figure.clock_hz = clock_at(*figure.best, best->rates, best->clocks);
  figure.conditions = best->conditions;
  if (best->how) figure.conditions += ", " + best->how();
  return figure;
}

}  // namespace ridge::limits::accelerator
