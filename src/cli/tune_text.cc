#include "cli/tune_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/units.h"
#include "cli/document_schemas.h"
#include "cli/figure_table.h"
#include "cli/own_colours.h"
#include "cli/terminal.h"
#include "plan/device.h"
#include "tune/conclusion.h"

namespace ridge::cli {
namespace {

constexpr size_t kFrontRows = 12, kKeptLayers = 8;  // the rest is in the JSON and on the page

std::string between(const measure::Interval& interval, std::string (*format)(double)) {
  if (interval.low && interval.high) return fmt::format("{} to {}", format(*interval.low), format(*interval.high));
  return interval.low ? "at least " + format(*interval.low) : "unknown";
}

std::string intervals_text(const char* title, const measure::Measurement& m) {
  return fmt::format("95 % intervals, {}: {}; p50 {}; p99 {}\n", title,
                     between(m.throughput_ci95_per_s, format_row_rate), between(m.latency_ci95_ms.p50, format_ms),
                     between(m.latency_ci95_ms.p99, format_ms));
}

// Ratio of the ends of a candidate's interval from which few rounds say nothing (as for a gain: tune::ends_text).
constexpr double kNoNews = 10;
std::string candidate_interval(const measure::Interval& interval, std::string (*format)(double)) {
  if (interval.low && interval.high && *interval.high > kNoNews * *interval.low) return "uncertain";
  return between(interval, format);
}

// The rows per second of a candidate; the winner's and the untuned model's are those of the table above.
measure::Interval rate_interval_of(const tune::Standing& point, const tune::Tuning& tuning) {
  if (point.candidate == tune::baseline_candidate()) return tuning.baseline.throughput_ci95_per_s;
  return point.candidate == tuning.candidate ? tuning.best.throughput_ci95_per_s : point.rows_per_s_ci95();
}

std::string gain_text(const tune::Gain& gain) {
  return fmt::format("{:.3g}×{}", gain.ratio, tune::ends_text(gain, ""));
}

// Says if a candidate meets the goal for p99.
std::string meets_text(const tune::Standing& point) {
  if (point.undecided) return "undecided";
  return point.feasible ? "yes" : "no";
}

std::string front_text(const tune::Tuning& tuning) {
  if (tuning.pareto.size() < 2) return "";
  const bool goal = tuning.goal.p99_ms.has_value();
  const bool energy = std::any_of(tuning.pareto.begin(), tuning.pareto.end(),
                                  [](const tune::Standing& s) { return s.outcome.candidate.joules_per_row > 0; });
  std::vector<std::vector<std::string>> rows;
  for (const tune::Standing& point : tuning.pareto) {
    const bool chosen = point.candidate == tuning.candidate;
    if (rows.size() >= kFrontRows && !chosen) continue;
    const tune::Figures& figures = point.outcome.candidate;
    rows.push_back({settings(point.candidate, tuning.baseline.engine), format_row_rate(figures.rows_per_s),
                    candidate_interval(rate_interval_of(point, tuning), format_row_rate), format_ms(figures.p99_ms),
                    candidate_interval(figures.p99_ci95_ms, format_ms),
                    point.entry.memory_bytes > 0 ? format_bytes(point.entry.memory_bytes) : "unknown",
                    gain_text(point.gain)});
    if (energy) rows.back().push_back(format_energy(figures.joules_per_row));
    if (goal) rows.back().push_back(meets_text(point));
    rows.back().push_back(chosen ? "chosen" : "");
  }
  std::vector<std::string> head{
      energy ? "Pareto front: throughput, p99, memory, energy" : "Pareto front: throughput, p99, memory",
      "throughput",
      "(95 % CI)",
      "p99",
      "(95 % CI)",
      "memory (derived)",
      "gain (95 % CI)"};
  std::string columns = energy ? "lrr4rr3r2rr1" : "lrr3rr2r1r";
  if (energy) head.push_back("energy per row (measured)");
  if (goal) head.push_back("meets the goal");
  if (goal) columns += 'l';
  head.push_back("");
  std::string text = "\n" + table(head, rows, columns + "l");
  if (tuning.pareto.size() > rows.size()) text += fmt::format("… and {} more\n", tuning.pareto.size() - rows.size());
  return text;
}

// The results that other goals would give.
std::string alternatives_text(const tune::Tuning& tuning) {
  std::string text;
  for (const auto& [objective, standing] : tuning.alternatives) {
    const tune::Figures& figures = standing.outcome.candidate;
    const bool latency = objective == "latency";
    text += fmt::format("{}: {}, p99 {}, by {}: --for {}{}\n", latency ? "lowest latency" : "highest throughput",
                        format_row_rate(figures.rows_per_s), format_ms(figures.p99_ms),
                        settings(standing.candidate, tuning.baseline.engine), objective,
                        latency ? fmt::format(", or --p99-ms {:.3g}", figures.p99_ms * 1.1) : "");
  }
  return text;
}

// The winner at the load of --rps.
std::string load_text(const tune::Tuning& tuning) {
  if (!tuning.at_load) return "";
  return fmt::format("at {} with random arrivals: {} done, a request's p99 {} (measured, {} runs; 95 % interval {})\n",
                     format_row_rate(tuning.at_load->asked_per_s), format_row_rate(tuning.at_load->done_per_s),
                     format_ms(tuning.at_load->request_p99_ms), tuning.at_load->runs,
                     between(tuning.at_load->request_p99_ci95_ms, format_ms));
}

// A variant's calibration, and the layers kept in FP32 for accuracy.
std::string made_text(const precision::Variant& variant) {
  std::string text;
  if (!variant.calibration.empty()) text += fmt::format("{}: calibrated by {}\n", variant.name, variant.calibration);
  if (variant.kept.empty()) return text;
  const size_t shown = std::min(variant.kept.size(), kKeptLayers);
  std::vector<std::string> names(variant.kept.begin(), variant.kept.begin() + static_cast<ptrdiff_t>(shown));
  for (std::string& name : names) name = without_controls(name, LineEnds::kEscaped);
  const std::string more = shown < variant.kept.size() ? fmt::format(" and {} more", variant.kept.size() - shown) : "";
  return text +
         fmt::format("{}: kept in FP32, so that accuracy holds: {}{}\n", variant.name, fmt::join(names, ", "), more);
}

// The searched engines and precisions with their accuracy loss; the rejected ones, and why.
std::string accuracy_text(const tune::VariantSelection& admission) {
  std::vector<std::vector<std::string>> rows;
  for (const tune::SelectedVariant& admitted : admission.admitted) {
    if (admitted.verdict.outputs.empty()) continue;
    const precision::Deviation& deviation = admitted.verdict.worst;
    rows.push_back({admitted.implementation.engine, admitted.implementation.variant,
                    fmt::format("{:.6f}", deviation.cosine), fmt::format("{:.2g}", deviation.relative_l2),
                    fmt::format("{:.2g}", deviation.max_abs), admitted.verdict.sentence});
  }
  std::string text;
  if (!rows.empty())
    text += "\n" + table({"engine", "precision", "cosine", "relative L2", "max abs", "accuracy"}, rows, "llr1r3r2n") +
            "\n" + admission.samples + "\n";
  for (const precision::Variant& variant : admission.variants) text += made_text(variant);
  for (const tune::Rejection& rejection : admission.rejections)
    text += fmt::format("{} {} {}: {}\n", painted(Meaning::kRejected, "not searched:"), rejection.request.engine,
                        rejection.request.variant, rejection.reason);
  return text;
}

std::string batching_text(const tune::Tuning& tuning) {
  if (tuning.choice == tune::Choice::kNone) return "";  // nothing will be served
  if (!tuning.batching.empty()) return "requests are not batched: " + tuning.batching + "\n";
  std::string text;
  if (tuning.batching_outlook) text += "batching, from the limits: " + tuning.batching_outlook->sentence + "\n";
  return text + "batching, measured: " + tuning.batching_advice.reason + "\n";
}

std::string verdict_text(tune::Change verdict) {
  std::string name(name_of(names_of(verdict), verdict));
  switch (verdict) {
    case tune::Change::kBetter: return painted(Meaning::kBetter, name);
    case tune::Change::kRegressed: return painted(Meaning::kRegressed, name);
    case tune::Change::kNotComparable: return painted(Meaning::kWarning, name);
    case tune::Change::kAsBefore: break;
  }
  return name;
}

const char* chosen_name(const tune::Tuning& tuning) {
  return tuning.choice == tune::Choice::kNone ? "closest" : "tuned";
}

}  // namespace

std::string tuning_text(const tune::Tuning& tuning) {
  std::string text =
      figure_table(document_schema("bench").value(), Json::array({to_json(tuning.baseline), to_json(tuning.best)}), {},
                   {{{"", {"untuned", chosen_name(tuning)}}}, {}});
  text += intervals_text("untuned", tuning.baseline);
  if (tuning.choice != tune::Choice::kBaseline) text += intervals_text(chosen_name(tuning), tuning.best);
  text += front_text(tuning) + alternatives_text(tuning) + load_text(tuning);
  text += accuracy_text(tuning.admission);
  text += fmt::format(
      "\n{} of {} candidates measured in {} trials ({} reused), {:.0f} s; noise between repeats of the baseline: "
      "±{:.1f} %\n",
      tuning.measured, tuning.candidates, tuning.trials, tuning.reused, tuning.seconds, tuning.noise_percent);
  for (const tune::SkipCount& skipped : tuning.skipped)
    text += fmt::format("  {:>4} skipped: {}\n", skipped.count, skipped.reason.text);
  text += batching_text(tuning);
  const precision::Deviation& d = tuning.deviation;
  text += "deviation from the untuned outputs: " +
          (d.elements > 0 && d.not_finite == d.elements
               ? fmt::format("not known, all {} values are NaN or infinite\n", d.elements)
               : fmt::format("max abs {:.2g}, relative L2 {:.2g}, same top-1 in {}{}\n", d.max_abs, d.relative_l2,
                             format_percent(100 * d.top1_agreement), not_finite_text(d)));
  if (tuning.baseline.advice.id == "not-finite")
    text += painted(Meaning::kWarning, "untuned:") + " " + tuning.baseline.advice.sentence + "\n";
  const auto device = plan::device_from_name(tuning.baseline.device);
  if (tuning.best_joules_per_row > 0)
    text += fmt::format("energy per row, whole {}, measured ({}): {:.3g} J untuned, {:.3g} J tuned\n",
                        device && plan::is_nvidia(*device) ? "GPU" : "package", tuning.energy,
                        tuning.baseline_joules_per_row, tuning.best_joules_per_row);
  for (const std::string& note : tuning.baseline.limit_notes) text += "limits: " + note + "\n";
  if (tuning.replay)
    text += fmt::format("the quick search on these {} points: reaches {} of the best by measuring {} ({})\n",
                        tuning.replay->points, format_percent(100 * tuning.replay->quality), tuning.replay->measured,
                        format_percent(100 * tuning.replay->share));
  if (!tuning.repository.empty()) text += fmt::format("written: {}\n", tuning.repository);
  if (tuning.interrupted) text += "interrupted: this is the best so far, by the search's own trials\n";
  for (const std::string& what : tuning.not_done) text += "--seconds ended: " + what + "\n";
  if (machine::disturbed(tuning.disturbance))
    text += machine::sentence(*tuning.disturbance) +
            (tuning.choice == tune::Choice::kNone
                 ? ". Rates and latencies are not the model's: on a quiet machine the goal may be met.\n"
                 : ". Gains hold, as each was interleaved with the untuned model; rates and latencies are not the "
                   "model's.\n");
  return text + conclusion(tuning);
}

std::string bound_text(const cost::Bound& bound, int threads) {
  if (bound.ms <= 0) return "bound: not known";
  return fmt::format("bound: {} for one row{}, at most {}, {} (derived)", format_ms(bound.ms),
                     threads > 0 ? fmt::format(" on {}", counted(threads, "thread")) : "",
                     format_row_rate(1e3 / bound.ms), cost::limiter_name(bound.limiter));
}

std::string untuned_text(const measure::Measurement& m) {
  return fmt::format("untuned: {}: {} ({}), p50 {}, p99 {}; {} (measured)",
                     tune::settings(tune::baseline_candidate(), m.engine), format_row_rate(m.throughput_per_s),
                     between(m.throughput_ci95_per_s, format_row_rate), format_ms(m.latency_ms.p50),
                     format_ms(m.latency_ms.p99), tune::limit_sentence(m));
}

std::string comparison_text(const std::vector<tune::FigureChange>& compared, const tune::Strictness& strictness,
                            const std::optional<machine::Disturbance>& disturbance) {
  std::vector<std::vector<std::string>> rows;
  for (const tune::FigureChange& row : compared) {
    const bool known = row.before > 0 && row.now > 0;
    const std::string spread = tune::spread_text(row);
    const std::string judged = row.beside_untuned_percent
                                   ? fmt::format("; beside the untuned model {:+.1f} %", *row.beside_untuned_percent)
                                   : "";
    rows.push_back(
        {row.what, tune::value_text(row, row.before), tune::value_text(row, row.now),
         known ? fmt::format("{:+.1f} %{}{}", row.change_percent, judged, spread.empty() ? "" : " (" + spread + ")")
               : "",
         verdict_text(row.verdict) + (row.reason.empty() ? "" : ": " + row.reason)});
  }
  std::string text = table({"", "recorded", "now", "change", "verdict"}, rows, "lrrrl");
  if (machine::disturbed(disturbance)) text += machine::sentence(*disturbance) + ".\n";
  return text + conclusion(compared, strictness);
}

}  // namespace ridge::cli
