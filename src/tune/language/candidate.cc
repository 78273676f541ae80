#include "tune/language/candidate.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "tune/serving_config.h"

namespace ridge::tune::language {
namespace {

std::string weights_name(const Form& form) { return std::string(name_of(names_of(form.weights), form.weights)); }
std::string cache_name(const Form& form) { return std::string(name_of(names_of(form.cache), form.cache)); }

}  // namespace

std::string describe(const Form& form) {
  return fmt::format("{}, {} weights, {} cache", form.engine, weights_name(form), cache_name(form));
}

std::string describe_settings(const Candidate& candidate) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
  if (candidate.step_tokens) add(fmt::format("{} tokens a step", *candidate.step_tokens));
  if (candidate.token_goal_ms) add(fmt::format("{:g} ms a token", *candidate.token_goal_ms));
  if (candidate.sequences != Candidate{}.sequences) add(fmt::format("{} at once", candidate.sequences));
  if (!candidate.speculation) add("no speculation");
  return text.empty() ? "defaults" : text;
}

generate::Settings settings_of(const Candidate& candidate, const engine::DecoderInfo& info, int64_t blocks,
                               const generate::StepLine& line) {
  generate::Settings settings;
  settings.cache = info.cache;
  settings.blocks = blocks;
  settings.context = info.context;
  settings.most_sequences = candidate.sequences;
  settings.most_tokens = candidate.step_tokens;
  if (candidate.token_goal_ms) settings.token_goal = from_seconds(*candidate.token_goal_ms / 1e3);
  settings.line = line;
  settings.speculate = candidate.speculation;
  return settings;
}

std::string config_text(const std::string& name, const Candidate& candidate, int machine_threads) {
  engine::Parameters parameters = {{"ridge_weights", weights_name(candidate.form)},
                                   {"ridge_cache", cache_name(candidate.form)}};
  const auto add = [&](const char* key, auto value) { parameters.emplace_back(key, fmt::format("{}", value)); };
  if (candidate.threads != machine_threads) add("ridge_threads", candidate.threads);
  if (candidate.step_tokens) add("ridge_step_tokens", *candidate.step_tokens);
  if (candidate.token_goal_ms) add("ridge_token_goal_ms", *candidate.token_goal_ms);
  if (candidate.sequences != Candidate{}.sequences) add("ridge_sequences", candidate.sequences);
  if (!candidate.speculation) add("ridge_speculation", 0);
  return tune::config_text(name, candidate.form.engine, parameters);
}

}  // namespace ridge::tune::language
