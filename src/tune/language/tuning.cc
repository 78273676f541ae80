#include "tune/language/tuning.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/units.h"
#include "measure/statistics.h"

namespace ridge::tune::language {
namespace {

std::string figures_text(const MeasuredCandidate& measured) {
  const llm::cpu::Figures& f = measured.figures;
  std::string text = format_rate(f.output_tokens_per_s, "tokens");
  if (f.goodput_per_s) text += fmt::format(", {:.3g} requests/s within the goals", *f.goodput_per_s);
  return text + fmt::format(", first token {} (p99 {}), then {} a token", format_ms(f.ttft_ms.p50),
                            format_ms(f.ttft_ms.p99), format_ms(f.tpot_ms.p50));
}

std::string settings_sentence(const LanguageTuning& tuning) {
  const Candidate& c = tuning.best.candidate;
  std::string text = fmt::format("Settings: {}, {}; scheduler: {}.", describe(c.form), counted(c.threads, "thread"),
                                 describe_settings(c));
  if (tuning.best.perplexity_ratio > 0)
    text += fmt::format(" Perplexity {:.4g} × the reference's.", tuning.best.perplexity_ratio);
  return text;
}

}  // namespace

std::optional<Advantage> advantage_of(std::span<const double> candidate, std::span<const double> baseline) {
  const double usual = measure::mean(baseline);
  if (!(usual > 0)) return std::nullopt;
  std::vector<double> differences;
  for (size_t i = 0; i < candidate.size(); ++i) differences.push_back(candidate[i] - baseline[i]);
  Advantage advantage;
  advantage.ratio = measure::mean(candidate) / usual;
  if (candidate.size() < 2) return advantage;
  const double half = measure::half_width(differences, measure::kIntervalConfidence) / usual;
  advantage.ci95 = {advantage.ratio - half, advantage.ratio + half};
  return advantage;
}

bool is_better(const MeasuredCandidate& measured) {
  if (!measured.gain) return score_of(measured.figures) > 0;
  return measured.gain->ci95.low.value_or(0) > 1;
}

const MeasuredCandidate* best_of(std::span<const MeasuredCandidate> measured) {
  const auto best = std::ranges::max_element(measured, {}, [](const MeasuredCandidate& m) {
    return std::pair(score_of(m.figures), m.figures.output_tokens_per_s);
  });
  return best == measured.end() ? nullptr : &*best;
}

std::string conclusion(const LanguageTuning& tuning) {
  const std::string unconfirmed = tuning.confirmed ? "" : " Not confirmed: the time ended, or the run was interrupted.";
  switch (tuning.choice) {
    case Choice::kNone:
      return tuning.goals.any() && tuning.best.rounds > 0
                 ? "No candidate answers a request within the goals; the closest: " + figures_text(tuning.best) + "."
                 : "No form of the model is accepted: see the reasons above.";
    case Choice::kBaseline:
      return "Nothing was faster than the defaults with confidence: " + figures_text(tuning.baseline) + ". " +
             settings_sentence(tuning);
    case Choice::kCandidate: break;
  }
  std::string gain = "Better than the defaults, which answer no request within the goals";
  if (const std::optional<Advantage>& g = tuning.best.gain) {
    gain = fmt::format("{:.3g}× the {} of the defaults", g->ratio,
                       tuning.goals.any() ? "requests within the goals" : "output tokens");
    if (g->ci95.low && g->ci95.high) gain += fmt::format(" (95 % CI {:.3g}–{:.3g})", *g->ci95.low, *g->ci95.high);
  }
  return fmt::format("{}: {}; defaults: {}. {}{}", gain, figures_text(tuning.best), figures_text(tuning.baseline),
                     settings_sentence(tuning), unconfirmed);
}

}  // namespace ridge::tune::language
