// The result of tuning a language model, and what follows from its measurements. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/fields.h"
#include "base/figure.h"
#include "llm/cpu/load.h"
#include "machine/disturbance.h"
#include "measure/interval.h"
#include "tune/language/candidate.h"
#include "tune/language/deviation.h"
#include "tune/space.h"
#include "tune/tuning.h"

namespace ridge::tune::language {

// A form as it was judged.
struct JudgedForm {
  Form form;
  std::string id = {}, reason = {};  // empty: it is accepted
  std::optional<Deviation> deviation = {};
  int64_t weight_bytes = 0;
  double load_ms = 0;
  std::optional<llm::cpu::Figures> predicted = {};  // with all threads and the scheduler's defaults
  bool accepted() const { return id.empty(); }
};
void visit_fields(auto& visit, Is<JudgedForm> auto& judged) {
  visit_fields(visit, judged.form);
  visit("id", judged.id, means("empty: it is accepted; `not-opened`, `not-run`, `deviates`, `unfinished`"));
  visit("reason", judged.reason);
  visit("deviation", judged.deviation,
        means("kl of a token's distribution from the reference's [nats], logit of log-probabilities; top1: share of "
              "tokens with the same most likely successor")
            .groups_columns());
  visit("weight_bytes", judged.weight_bytes);
  visit("load_ms", judged.load_ms);
  visit("predicted", judged.predicted,
        means("by the step line, with the scheduler's defaults and all threads")
            .part_columns("output_tokens_per_s", "predicted"));
}

// Gain of the score over the defaults' in the same rounds: ratio of the means, with the 95 % interval of the
// differences of the rounds.
struct Advantage {
  double ratio = 1;
  measure::Interval ci95 = {};  // empty: fewer than two rounds
};
void visit_fields(auto& visit, Is<Advantage> auto& gain) {
  visit("ratio", gain.ratio);
  visit("ci95", gain.ci95);
}
// Compares the scores of the same rounds; empty if the baseline's are all 0.
std::optional<Advantage> advantage_of(std::span<const double> candidate, std::span<const double> baseline);

struct MeasuredCandidate {
  Candidate candidate;
  llm::cpu::Figures figures;
  std::optional<llm::cpu::Figures> predicted = {};
  std::optional<Advantage> gain = {};
  int64_t rounds = 0;
  double percent_of_limit = 0, limit_tokens_per_s = 0;
  uint64_t drafted_tokens = 0, accepted_tokens = 0, preemptions = 0;
  double perplexity_ratio = 0;  // of its form
};
void visit_fields(auto& visit, Is<MeasuredCandidate> auto& measured) {
  visit_fields(visit, measured.candidate);
  visit("figures", measured.figures, Figure().groups_columns());
  visit("predicted", measured.predicted, Figure().part_columns("output_tokens_per_s", "predicted").leaves(1));
  visit("gain", measured.gain, means("of what is maximised, over the baseline in the same rounds"));
  visit("rounds", measured.rounds, Figure().column("rounds").leaves(1));
  visit.or_null("percent_of_limit", measured.percent_of_limit,
                means("bound of the steps ÷ their time").column("share of the limit").leaves(2));
  visit.or_null("limit_tokens_per_s", measured.limit_tokens_per_s,
                means("output, if every step took its bound").column("tokens/s limit").in("tokens/s"));
  visit("drafted_tokens", measured.drafted_tokens);
  visit("accepted_tokens", measured.accepted_tokens);
  visit("preemptions", measured.preemptions);
  visit("perplexity_ratio", measured.perplexity_ratio, Figure().column("perplexity").in("×").leaves(2));
}
// True if it is better with confidence; if the baseline answers nothing within the goals, any request that is suffices.
bool is_better(const MeasuredCandidate& measured);
// The best score; of goodputs that are equal, the most tokens. Null: there are none.
const MeasuredCandidate* best_of(std::span<const MeasuredCandidate> measured);

struct LanguageTuning {
  std::string model;  // the folder
  std::string engine_version;
  int64_t prompt_min = 0, prompt_max = 0, output_min = 0, output_max = 0;  // [tokens]
  int64_t concurrency = 0, requests = 0;
  std::string trace = {};
  llm::cpu::Goals goals;
  std::string text;
  Form reference;
  double reference_perplexity = 0;
  Bounds bounds;
  std::vector<JudgedForm> forms;
  std::vector<SkipCount> skipped;
  MeasuredCandidate baseline;
  std::vector<MeasuredCandidate> candidates;
  Choice choice = Choice::kNone;
  MeasuredCandidate best;  // of the choice
  bool confirmed = false, interrupted = false;
  double seconds = 0;
  std::string repository = {}, device = {};
  std::optional<machine::Disturbance> disturbance = {};
  std::vector<std::string> notes = {};
};
void visit_fields(auto& visit, Is<LanguageTuning> auto& tuning) {
  visit("model", tuning.model, means("the folder"));
  visit("engine_version", tuning.engine_version, means("of the defaults' engine"));
  visit.object("workload", [&](auto& inner) {
    inner("prompt_min", tuning.prompt_min);
    inner("prompt_max", tuning.prompt_max);
    inner("output_min", tuning.output_min);
    inner("output_max", tuning.output_max);
    inner("concurrency", tuning.concurrency, means("0: requests come at their times"));
    inner("requests", tuning.requests, means("of one measurement"));
    inner("trace", tuning.trace, means("the file that the lengths are from, or empty"));
  });
  visit("goals", tuning.goals);
  visit("text", tuning.text, means("of the guard and the prompts: the file, or `embedded`"));
  visit("reference", tuning.reference, means("what forms are compared with"));
  visit("reference_perplexity", tuning.reference_perplexity);
  visit("bounds", tuning.bounds, means("largest that are accepted: mean kl [nats], and the perplexity's ratio"));
  visit("forms", tuning.forms, means("as they were judged"));
  visit("skipped", tuning.skipped, means("candidates that were not measured, by reason, as of a model's file"));
  visit("baseline", tuning.baseline, means("the defaults of `ridge serve`, as of `candidates`"));
  visit("candidates", tuning.candidates, means("that were measured, the best first"));
  visit("choice", tuning.choice, means("`tuned`, `baseline` (nothing was better with confidence), `none`"));
  visit("best", tuning.best, means("of the choice, as of `candidates`"));
  visit("confirmed", tuning.confirmed, means("the best was measured again"));
  visit("interrupted", tuning.interrupted);
  visit("seconds", tuning.seconds);
  visit("repository", tuning.repository);
  visit("device", tuning.device, means("of the limits"));
  visit.unless_empty("disturbance", tuning.disturbance);
  visit("notes", tuning.notes);
}

// "2.31× the output tokens per second of the defaults (95 % CI 2.2–2.4): 312 tokens/s, …".
std::string conclusion(const LanguageTuning& tuning);

}  // namespace ridge::tune::language
