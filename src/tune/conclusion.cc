#include "tune/conclusion.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/units.h"
#include "measure/advice.h"

namespace ridge::tune {
namespace {

using measure::Measurement;

// "8.09× faster than ONNX Runtime's defaults (95 % CI 5.74–11.4)".
std::string gain_text(const Tuning& tuning, const char* of) {
  const Gain& gain = tuning.gain;
  const std::string untuned = settings(baseline_candidate(), tuning.baseline.engine);
  return fmt::format("{:.3g}× {} {}{}", gain.ratio, of, untuned, ends_text(gain));
}

std::string rates(const Measurement& best, const Measurement& untuned) {
  return format_row_rate(best.throughput_per_s) + " vs " + format_row_rate(untuned.throughput_per_s);
}

std::string gain_sentence(const Tuning& tuning) {
  const Measurement &best = tuning.best, &untuned = tuning.baseline;
  const std::string p99 =
      fmt::format("p99 {} vs {}", format_ms(best.latency_ms.p99), format_ms(untuned.latency_ms.p99));
  const char* faster = tuning.gain.ratio >= 1 ? "faster than" : "as fast as";
  switch (tuning.goal.objective) {
    case Objective::kBalanced:
    case Objective::kThroughput: break;
    case Objective::kEnergy:
      return fmt::format("{}: {:.3g} J vs {:.3g} J per row, {}, {}", gain_text(tuning, "the rows per joule of"),
                         tuning.best_joules_per_row, tuning.baseline_joules_per_row, rates(best, untuned), p99);
    case Objective::kCost:
      return fmt::format("{}: {} on {} CPUs vs {} on {}, {}", gain_text(tuning, "the rows per CPU of"),
                         format_row_rate(best.throughput_per_s), best.instances * best.threads,
                         format_row_rate(untuned.throughput_per_s), untuned.instances * untuned.threads, p99);
    case Objective::kLatency:
      return fmt::format("{} at one request: p50 {} vs {}, {}, {}", gain_text(tuning, faster),
                         format_ms(best.latency_ms.p50), format_ms(untuned.latency_ms.p50), p99, rates(best, untuned));
  }
  return fmt::format("{}: {}, {}", gain_text(tuning, faster), rates(best, untuned), p99);
}

// Says that the guard judged the winner's outputs on synthetic samples only.
std::string synthetic_sentence(const Tuning& tuning) {
  if (!tuning.admission.synthetic) return "";
  const SelectedVariant* admitted = admitted_as(tuning.candidate, tuning.admission);
  const bool judged = admitted != nullptr && !admitted->verdict.outputs.empty();
  return judged ? " The deviation was measured on synthetic samples only." : "";
}

std::string capitalised(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

// By the layers of the winner.
std::string operator_sentence(const Tuning& tuning) {
  const std::string text = measure::deciding_operator(tuning.best);
  return text.empty() ? "" : " " + text + ".";
}

std::string_view why_kept(const Tuning& tuning) {
  if (tuning.interrupted && tuning.trials == 0) return "interrupted before anything else was measured";
  const bool refuted = std::any_of(tuning.skipped.begin(), tuning.skipped.end(),
                                   [](const SkipCount& skipped) { return skipped.reason.id == kNotConfirmed.id; });
  return refuted ? "what was ahead in the search was not confirmed when measured again"
                 : "nothing was significantly better";
}

// Figures of the closest candidate if none meets the goal.
std::string closest_text(const Tuning& tuning) {
  const Measurement& best = tuning.best;
  std::string text =
      fmt::format("{}, {}", format_row_rate(best.throughput_per_s), "p99 " + format_ms(best.latency_ms.p99));
  if (!tuning.goal.rows_per_s) return text + " of a run";
  const Figures figures{best.throughput_per_s, best.latency_ms.p50, best.latency_ms.p99};
  const std::string miss = fulfilment_of(tuning.goal.limits(), tuning.candidate, figures).miss;
  return text + " of a run" + (miss.empty() ? "" : ": " + miss);
}

// Reports an interrupted search: the leader by short trials is not a result.
std::string unfinished_sentence(const Tuning& tuning, const std::string& set) {
  const char* what = tuning.choice == Choice::kNone       ? "The closest to the goal so far"
                     : tuning.choice == Choice::kBaseline ? "Kept so far"
                                                          : "The best of the search so far";
  return fmt::format("Interrupted: not confirmed. {}: {}. The same command again goes on from these trials.", what,
                     set);
}

// Where the goal lies within the interval of the p99 that it judges.
std::string undecided_sentence(const Tuning& tuning) {
  const std::optional<measure::Interval> judged = undecided_goal(tuning);
  if (!judged) return "";
  const std::string from = format_ms(judged->low.value_or(0));
  return fmt::format(" Whether it meets p99 ≤ {} is undecided: the 95 % interval of {} is {}.",
                     format_ms(*tuning.goal.p99_ms), tuning.goal.rows_per_s ? "a request's p99" : "p99",
                     judged->high ? from + " to " + format_ms(*judged->high)
                                  : from + " or more; the runs are too few for its upper end");
}

}  // namespace

std::string goal_text(const Goal& goal) {
  std::string text = goal.p99_ms ? "p99 ≤ " + format_ms(*goal.p99_ms) : "";
  if (goal.rows_per_s) text += (text.empty() ? "" : " at ") + format_row_rate(*goal.rows_per_s);
  return text;
}

std::string limit_sentence(const Measurement& measured) {
  if (measured.percent_of_limit <= 0) return "its physical limit is not known";
  const char* what = measured.limiter == cost::Limiter::kMemory ? "memory bandwidth" : "compute";
  if (measured.undisturbed)
    return fmt::format("{}-bound, undisturbed (by the {} run) at about {:.0f} % of the limit", what,
                       measured.undisturbed->by, measured.undisturbed->percent_of_limit);
  if (measured.percent_of_limit < 1) return fmt::format("{}-bound, below 1 % of the limit", what);
  return fmt::format("{}-bound, at {} of the limit", what, format_percent(measured.percent_of_limit));
}

std::string conclusion(const Tuning& tuning) {
  const Measurement& best = tuning.best;
  const std::string limit = capitalised(limit_sentence(best));
  const std::string set = settings(tuning.candidate, tuning.baseline.engine);
  if (tuning.interrupted && tuning.trials > 0) return unfinished_sentence(tuning, set);
  switch (tuning.choice) {
    case Choice::kNone:
      return fmt::format("Not reachable here: {}. The closest: {}, {}.{}", goal_text(tuning.goal), set,
                         closest_text(tuning), undecided_sentence(tuning));
    case Choice::kBaseline:
      return fmt::format("Kept {}: {}. {}, p99 {}. {}.{}{}", set, why_kept(tuning),
                         format_row_rate(best.throughput_per_s), format_ms(best.latency_ms.p99), limit,
                         undecided_sentence(tuning), operator_sentence(tuning));
    case Choice::kCandidate: break;
  }
  const std::string goal = goal_text(tuning.goal);
  return fmt::format("{}{}. {}. Settings: {}.{}{}{}{}", capitalised(gain_sentence(tuning)),
                     goal.empty() ? "" : ", with " + goal, limit, set, undecided_sentence(tuning),
                     tuning.confirmed ? "" : " Not confirmed by a longer measurement.", synthetic_sentence(tuning),
                     operator_sentence(tuning));
}

}  // namespace ridge::tune
