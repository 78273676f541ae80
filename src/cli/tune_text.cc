#include "cli/tune_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/units.h"
#include "cli/terminal.h"
#include "plan/device.h"

namespace ridge::cli {
namespace {

constexpr size_t kFrontRows = 12, kKeptLayers = 8;  // the rest is in the JSON and on the page

std::vector<std::string> row(const char* title, const measure::Measurement& m) {
  return {title,
          m.engine,
          std::string(precision_name(m.precision)),
          fmt::format("{} × {}", m.instances, m.threads),
          fmt::format("{}", m.batch),
          fmt::format("{:.4g} rows/s", m.throughput_per_s),
          format_ms(m.latency_ms.p50),
          format_ms(m.latency_ms.p99),
          m.percent_of_limit > 0 ? format_percent(m.percent_of_limit) : "unknown",
          fmt::format("{}", m.samples)};
}

std::string front_text(const tune::Tuning& tuning) {
  if (tuning.pareto.size() < 2) return "";
  const bool energy = std::any_of(tuning.pareto.begin(), tuning.pareto.end(),
                                  [](const tune::Standing& s) { return s.outcome.candidate.joules_per_row > 0; });
  std::vector<std::vector<std::string>> rows;
  for (const tune::Standing& point : tuning.pareto) {
    if (rows.size() == kFrontRows) break;
    rows.push_back({describe(point.candidate), fmt::format("{:.4g} rows/s", point.outcome.candidate.rows_per_s),
                    format_ms(point.outcome.candidate.p99_ms),
                    point.entry.memory_bytes > 0 ? format_bytes(point.entry.memory_bytes) : "unknown",
                    fmt::format("{:.2f}×", point.gain.ratio)});
    if (energy) rows.back().push_back(fmt::format("{:.3g} J", point.outcome.candidate.joules_per_row));
  }
  std::vector<std::string> head{"Pareto front of these", "throughput", "p99", "memory (derived)", "gain"};
  if (energy) head.push_back("energy per row (measured)");
  std::string text = "\n" + table(head, rows, energy ? "lrrrrr" : "lrrrr");
  if (tuning.pareto.size() > kFrontRows) text += fmt::format("… and {} more\n", tuning.pareto.size() - kFrontRows);
  return text;
}

// A variant's calibration, and the layers kept in FP32 for accuracy.
std::string made_text(const precision::Variant& variant) {
  std::string text;
  if (!variant.calibration.empty()) text += fmt::format("{}: calibrated by {}\n", variant.name, variant.calibration);
  if (variant.kept.empty()) return text;
  const size_t shown = std::min(variant.kept.size(), kKeptLayers);
  const std::vector<std::string> names(variant.kept.begin(), variant.kept.begin() + static_cast<ptrdiff_t>(shown));
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
    text += "\n" + table({"engine", "precision", "cosine", "relative L2", "max abs", "accuracy"}, rows, "llrrrl") +
            "\n" + admission.samples + "\n";
  for (const precision::Variant& variant : admission.variants) text += made_text(variant);
  for (const tune::Rejection& rejection : admission.rejections)
    text +=
        fmt::format("not searched: {} {}: {}\n", rejection.request.engine, rejection.request.variant, rejection.reason);
  return text;
}

std::string batching_text(const tune::Tuning& tuning) {
  if (!tuning.batching.empty()) return "requests are not batched: " + tuning.batching + "\n";
  std::string text;
  if (tuning.batching_outlook) text += "batching, from the limits: " + tuning.batching_outlook->sentence + "\n";
  return text + "batching, measured: " + tuning.batching_advice.reason + "\n";
}

std::string figure(const tune::FigureChange& row, double value) {
  if (row.unit == "B") return format_bytes(value);
  if (row.unit == "ms") return format_ms(value);
  return fmt::format("{:.4g}{}{}", value, row.unit.empty() ? "" : " ", row.unit);
}

}  // namespace

std::string tuning_text(const tune::Tuning& tuning) {
  std::string text = table(
      {"", "engine", "precision", "instances × threads", "batch", "throughput", "p50", "p99", "of the limit", "runs"},
      {row("untuned", tuning.baseline), row(tuning.choice == tune::Choice::kNone ? "closest" : "tuned", tuning.best)},
      "lllrrrrrrr");
  text += front_text(tuning);
  text += accuracy_text(tuning.admission);
  text += fmt::format(
      "\n{} of {} candidates measured in {} trials ({} reused), {:.0f} s; noise between repeats of the baseline: "
      "±{:.1f} %\n",
      tuning.measured, tuning.candidates, tuning.trials, tuning.reused, tuning.seconds, tuning.noise_percent);
  for (const tune::SkipCount& skipped : tuning.skipped)
    text += fmt::format("  {:>4} skipped: {}\n", skipped.count, skipped.reason.text);
  text += batching_text(tuning);
  text += fmt::format("deviation from the untuned outputs: max abs {:.2g}, relative L2 {:.2g}, same top-1 in {}\n",
                      tuning.deviation.max_abs, tuning.deviation.relative_l2,
                      format_percent(100 * tuning.deviation.top1_agreement));
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
  if (tuning.disturbance && machine::disturbed(*tuning.disturbance))
    text += machine::sentence(*tuning.disturbance) +
            ". Gains hold, as each was interleaved with the untuned model; rates and latencies are not the model's.\n";
  return text + conclusion(tuning);
}

std::string comparison_text(const std::vector<tune::FigureChange>& compared, const tune::Strictness& strictness) {
  std::vector<std::vector<std::string>> rows;
  for (const tune::FigureChange& row : compared) {
    const bool known = row.before > 0 && row.now > 0;
    std::string spread = row.spread_percent > 0 ? fmt::format(" ± {:.1f} %", row.spread_percent) : "";
    const std::string judged = row.beside_untuned_percent
                                   ? fmt::format("; beside the untuned model {:+.1f} %", *row.beside_untuned_percent)
                                   : "";
    rows.push_back(
        {row.what, figure(row, row.before), figure(row, row.now),
         known ? fmt::format("{:+.1f} %{}{}", row.change_percent, judged, spread) : "",
         std::string(name_of(names_of(row.verdict), row.verdict)) + (row.reason.empty() ? "" : ": " + row.reason)});
  }
  return table({"", "recorded", "now", "change", "verdict"}, rows, "lrrrl") + conclusion(compared, strictness);
}

}  // namespace ridge::cli
