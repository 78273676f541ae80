// A way of serving a language model: what the decoder is opened with, and what the scheduler is told. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/figure.h"
#include "engine/decoder.h"
#include "generate/scheduler.h"

namespace ridge::tune::language {

// Settings that may change the answers.
struct Form {
  std::string engine;
  engine::WeightFormat weights = engine::WeightFormat::kBf16;
  engine::CacheForm cache = engine::CacheForm::kU8;
  bool operator==(const Form&) const = default;
};
void visit_fields(auto& visit, Is<Form> auto& form) {
  visit("engine", form.engine, Figure().column("engine"));
  visit("weights", form.weights, Figure().column("weights"));
  visit("cache", form.cache, Figure().column("cache"));
}

// The defaults are those of `ridge serve`.
struct Candidate {
  Form form;
  int threads = 1;
  std::optional<int64_t> step_tokens = {};  // most of a step; empty: from the goal, else the scheduler's own
  std::optional<double> token_goal_ms = {};
  int64_t sequences = generate::Settings{}.most_sequences;  // most that run at the same time
  bool speculation = true;
  bool operator==(const Candidate&) const = default;
};
// Settings of the scheduler beside the defaults: "256 tokens a step, 4 sequences"; "defaults".
std::string describe_settings(const Candidate& candidate);
void visit_fields(auto& visit, Is<Candidate> auto& candidate) {
  visit_fields(visit, candidate.form);
  visit("threads", candidate.threads, Figure().column("threads"));
  visit("step_tokens", candidate.step_tokens);
  visit("token_goal_ms", candidate.token_goal_ms);
  visit("sequences", candidate.sequences);
  visit("speculation", candidate.speculation);
  visit.derived("scheduler", Derived{describe_settings(candidate),
                                     means("what of these is not the default, for people").column("scheduler")});
}

// "openvino, int8 weights, u8 cache".
std::string describe(const Form& form);

generate::Settings settings_of(const Candidate& candidate, const engine::DecoderInfo& info, int64_t blocks,
                               const generate::StepLine& line);

// Its config.pbtxt (docs/contracts.md, "Language models"). `machine_threads`: what the service takes by itself.
std::string config_text(const std::string& name, const Candidate& candidate, int machine_threads);

}  // namespace ridge::tune::language
