// The result of tuning a language model, and what follows from its measurements. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/fields.h"
#include "llm/cpu/load.h"
#include "machine/disturbance.h"
#include "measure/interval.h"
#include "tune/language/candidate.h"
#include "tune/language/deviation.h"
#include "tune/space.h"
#include "tune/tuning.h"

namespace ridge::tune::language {

// A form as it was judged. Rejected ones have an id: not-opened, not-run, deviates, unfinished.
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
  visit("id", judged.id);
  visit("reason", judged.reason);
  visit("deviation", judged.deviation);
  visit("weight_bytes", judged.weight_bytes);
  visit("load_ms", judged.load_ms);
  visit("predicted", judged.predicted);
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
  double percent_of_limit = 0;    // bound of the steps ÷ their time
  double limit_tokens_per_s = 0;  // output, if every step took its bound
  uint64_t drafted_tokens = 0, accepted_tokens = 0, preemptions = 0;
  double perplexity_ratio = 0;  // of its form
};
void visit_fields(auto& visit, Is<MeasuredCandidate> auto& measured) {
  visit_fields(visit, measured.candidate);
  visit("figures", measured.figures);
  visit("predicted", measured.predicted);
  visit("gain", measured.gain);
  visit("rounds", measured.rounds);
  visit.or_null("percent_of_limit", measured.percent_of_limit);
  visit.or_null("limit_tokens_per_s", measured.limit_tokens_per_s);
  visit("drafted_tokens", measured.drafted_tokens);
  visit("accepted_tokens", measured.accepted_tokens);
  visit("preemptions", measured.preemptions);
  visit("perplexity_ratio", measured.perplexity_ratio);
}
// True if it is better with confidence; if the baseline answers nothing within the goals, any request that is suffices.
bool is_better(const MeasuredCandidate& measured);
// The best score; of goodputs that are equal, the most tokens. Null: there are none.
const MeasuredCandidate* best_of(std::span<const MeasuredCandidate> measured);

struct LanguageTuning {
  std::string model;  // the folder
  std::string engine_version;
  int64_t prompt_min = 0, prompt_max = 0, output_min = 0, output_max = 0;  // [tokens]
  int64_t concurrency = 0;                                                 // 0: at their times
  int64_t requests = 0;                                                    // of one measurement
  std::string trace = {};                                                  // file that the lengths are from
  llm::cpu::Goals goals;
  std::string text;  // of the guard and the prompts: the file, or "embedded"
  Form reference;
  double reference_perplexity = 0;
  Bounds bounds;
  std::vector<JudgedForm> forms;
  std::vector<SkipCount> skipped;
  MeasuredCandidate baseline;                 // the defaults of `ridge serve`
  std::vector<MeasuredCandidate> candidates;  // the best score first
  Choice choice = Choice::kNone;
  MeasuredCandidate best;  // of the choice
  bool confirmed = false, interrupted = false;
  double seconds = 0;
  std::string repository = {};  // folder of the version that was written
  std::string device = {};      // of the limits
  std::optional<machine::Disturbance> disturbance = {};
  std::vector<std::string> notes = {};
};
void visit_fields(auto& visit, Is<LanguageTuning> auto& tuning) {
  visit("model", tuning.model);
  visit("engine_version", tuning.engine_version);
  visit.object("workload", [&](auto& inner) {
    inner("prompt_min", tuning.prompt_min);
    inner("prompt_max", tuning.prompt_max);
    inner("output_min", tuning.output_min);
    inner("output_max", tuning.output_max);
    inner("concurrency", tuning.concurrency);
    inner("requests", tuning.requests);
    inner("trace", tuning.trace);
  });
  visit("goals", tuning.goals);
  visit("text", tuning.text);
  visit("reference", tuning.reference);
  visit("reference_perplexity", tuning.reference_perplexity);
  visit("bounds", tuning.bounds);
  visit("forms", tuning.forms);
  visit("skipped", tuning.skipped);
  visit("baseline", tuning.baseline);
  visit("candidates", tuning.candidates);
  visit("choice", tuning.choice);
  visit("best", tuning.best);
  visit("confirmed", tuning.confirmed);
  visit("interrupted", tuning.interrupted);
  visit("seconds", tuning.seconds);
  visit("repository", tuning.repository);
  visit("device", tuning.device);
  visit.unless_empty("disturbance", tuning.disturbance);
  visit("notes", tuning.notes);
}

// "2.31× the output tokens per second of the defaults (95 % CI 2.2–2.4): 312 tokens/s, …".
std::string conclusion(const LanguageTuning& tuning);

}  // namespace ridge::tune::language
