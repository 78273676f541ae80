#include "serve/language_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "base/log.h"
#include "base/read_number.h"
#include "engine/engines.h"
#include "engine/parameter.h"
#include "model_config.pb.h"

namespace ridge::serve {
namespace {

using engine::wrong_value;

Status read_count(const std::string& value, int64_t most, int64_t& count) {
  if (read_number(value, count) && count >= 1 && count <= most) return {};
  return wrong_value(value, fmt::format("a number from 1 to {}", most));
}

constexpr int64_t kMostTokens = int64_t{1} << 40;
constexpr int64_t kMostSequences = 65536;

struct LanguageParameter {
  std::string_view key;
  Status (*read)(const std::string& value, LanguageConfig& config);
};

const std::array kLanguageParameters = {
    LanguageParameter{"ridge_weights",
                      [](const std::string& v, LanguageConfig& c) -> Status {
                        RIDGE_ASSIGN(c.weights, engine::weight_form(v));
                        return {};
                      }},
    LanguageParameter{"ridge_cache",
                      [](const std::string& v, LanguageConfig& c) -> Status {
                        RIDGE_ASSIGN(c.plan.cache, engine::cache_form(v));
                        return {};
                      }},
    LanguageParameter{"ridge_threads",
                      [](const std::string& v, LanguageConfig& c) { return engine::read_threads(v, c.plan.threads); }},
    LanguageParameter{
        "ridge_cache_tokens",
        [](const std::string& v, LanguageConfig& c) { return read_count(v, kMostTokens, c.cache_tokens); }},
    LanguageParameter{"ridge_context",
                      [](const std::string& v, LanguageConfig& c) { return read_count(v, kMostTokens, c.context); }},
    LanguageParameter{
        "ridge_sequences",
        [](const std::string& v, LanguageConfig& c) { return read_count(v, kMostSequences, c.most_sequences); }},
    LanguageParameter{
        "ridge_step_tokens",
        [](const std::string& v, LanguageConfig& c) { return read_count(v, kMostTokens, c.step_tokens.emplace()); }},
    LanguageParameter{"ridge_token_goal_ms",
                      [](const std::string& v, LanguageConfig& c) -> Status {
                        double ms = 0;
                        if (!read_number(v, ms) || !(ms > 0) || ms > 3.6e6)
                          return wrong_value(v, "a number of milliseconds above 0");
                        c.token_goal = from_seconds(ms / 1e3);
                        return {};
                      }},
    LanguageParameter{"ridge_prefix_reuse",
                      [](const std::string& v, LanguageConfig& c) { return engine::read_flag(v, c.prefix_reuse); }},
    LanguageParameter{"ridge_speculation",
                      [](const std::string& v, LanguageConfig& c) { return engine::read_flag(v, c.speculate); }},
    LanguageParameter{
        "ridge_generation_config",
        [](const std::string& v, LanguageConfig& c) { return engine::read_flag(v, c.generation_config); }},
};

// The configured engine, or the first that has a decoder.
const engine::Engine& decoder_engine(const inference::ModelConfig& config) {
  if (!config.backend().empty()) return engine::named(config.backend());
  for (const engine::Engine& engine : engine::known())
    if (engine.open_decoder != nullptr && !engine.for_tests) return engine;
  return engine::known().front();
}

Status check_fields(const inference::ModelConfig& config) {
  const char* found = nullptr;
  if (config.input_size() > 0) found = "input";
  if (config.output_size() > 0) found = "output";
  if (config.max_batch_size() > 0) found = "max_batch_size";
  if (config.has_dynamic_batching()) found = "dynamic_batching";
  if (config.has_sequence_batching()) found = "sequence_batching";
  if (config.response_cache().enable()) found = "response_cache";
  if (config.instance_group_size() > 0) found = "instance_group";
  if (found == nullptr) return {};
  return invalid(
      fmt::format("it is a language model (config.json or .gguf), which has no '{}': its requests are "
                  "texts, and share every step; remove it from config.pbtxt",
                  found));
}

Status read_parameters(LanguageConfig& read, const inference::ModelConfig& config) {
  for (const auto& [key, parameter] : config.parameters()) {
    const auto row = std::ranges::find(kLanguageParameters, std::string_view(key), &LanguageParameter::key);
    if (row != kLanguageParameters.end()) {
      if (Status done = row->read(parameter.string_value(), read); !done)
        return wrap(std::move(done).error(), fmt::format("parameter '{}'", key));
    } else if (key.starts_with("ridge_")) {
      log::warning("model '{}': parameter '{}' is not known to ridge for language models and has no effect",
                   read.settings.name, key);
    }
  }
  return {};
}

}  // namespace

Result<LanguageConfig> language_config_of(const inference::ModelConfig& config, const std::string& name,
                                          int64_t version, const std::string& checkpoint, int cores,
                                          const std::string& engine_library) {
  RIDGE_TRY(check_fields(config));
  const engine::Engine& engine = decoder_engine(config);
  LanguageConfig read;
  read.plan.engine = engine.name;
  read.plan.library = engine_library;
  read.plan.folder = checkpoint;
  read.plan.threads = cores;
  read.settings.name = name;
  read.settings.version = version;
  read.settings.platform = engine.platform.empty() ? engine.name : engine.platform;
  read.settings.metric_tags.assign(config.metric_tags().begin(), config.metric_tags().end());
  std::ranges::sort(read.settings.metric_tags);
  RIDGE_TRY(read_parameters(read, config));
  RIDGE_ASSIGN(read.plan.weights, engine::form_of(checkpoint, read.weights));
  auto completed = std::make_shared<inference::ModelConfig>(config);
  completed->set_name(name);
  completed->set_backend(std::string(engine.name));
  completed->set_platform(read.settings.platform);
  if (!completed->has_version_policy()) completed->mutable_version_policy()->mutable_latest()->set_num_versions(1);
  auto& parameters = *completed->mutable_parameters();
  parameters["ridge_weights"].set_string_value(std::string(name_of(names_of(read.plan.weights), read.plan.weights)));
  parameters["ridge_cache"].set_string_value(std::string(name_of(names_of(read.plan.cache), read.plan.cache)));
  read.completed = std::move(completed);
  return read;
}

}  // namespace ridge::serve
