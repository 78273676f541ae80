#include "serve/language_loader.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/log.h"
#include "base/units.h"
#include "checkpoint/weights.h"
#include "model_config.pb.h"
#include "serve/cache_size.h"
#include "serve/config_json.h"
#include "serve/language_config.h"
#include "serve/language_files.h"
#include "serve/language_model.h"
#include "serve/mapped_files.h"
#include "serve/repository.h"
#include "serve/shared_mapping.h"
#include "serve/step_measurement.h"

namespace ridge::serve {
namespace {

constexpr std::chrono::milliseconds kMeasureTime{700};

Result<generate::Settings> generation_of(const ServerOptions& options, const LanguageConfig& config,
                                         const engine::DecoderInfo& info, uint64_t file_bytes) {
  generate::Settings settings;
  settings.cache = info.cache;
  settings.context = config.context > 0 ? std::min(config.context, info.context) : info.context;
  RIDGE_ASSIGN(settings.blocks, cache_blocks({.shape = info.cache,
                                              .context = settings.context,
                                              .most_sequences = config.most_sequences,
                                              .tokens = config.cache_tokens,
                                              .free_bytes = options.free_memory ? options.free_memory() : 0,
                                              .file_bytes = file_bytes,
                                              .weight_bytes = info.weight_bytes}));
  settings.context = std::min(settings.context, settings.blocks * info.cache.block_tokens);
  settings.most_sequences = config.most_sequences;
  settings.most_tokens = config.step_tokens;
  settings.token_goal = config.token_goal;
  settings.prefix_reuse = config.prefix_reuse;
  settings.speculate = config.speculate;
  return settings;
}

// Steps too short for the clock tell nothing.
generate::StepLine line_of(std::vector<generate::StepPoint> points) {
  constexpr size_t kLeast = 4;
  std::erase_if(points, [](const generate::StepPoint& point) { return point.seconds <= 0; });
  return points.size() < kLeast ? generate::StepLine() : generate::fit(points);
}

Status warm_up(const ServerOptions& options, engine::Decoder& decoder, generate::Settings& settings,
               const std::stop_token& stop) {
  const std::stop_callback break_off(stop, [&] { decoder.terminate(); });
  Result<std::vector<generate::StepPoint>> points =
      measure_steps(decoder, settings.blocks, kMeasureTime, *options.clock, stop);
  if (stop.stop_requested()) return load_cancelled();
  if (!points) return std::move(points).error();
  settings.line = line_of(std::move(*points));
  return {};
}

Result<LoadedLanguageModel> open_model(const LoadContext& context, const ModelSource& source, int64_t version) {
  const ServerOptions& options = context.options;
  if (context.stop.stop_requested()) return load_cancelled();
  const TimePoint start = options.clock->now();
  const LoadGuard guard;
  const std::string folder = version_path(source.directory, version);
  const std::string checkpoint = checkpoint_of(folder).value_or(folder);
  RIDGE_ASSIGN(LanguageConfig config, language_config_of(*source.config, source.name, version, checkpoint,
                                                         options.cores, options.engine_library));
  std::string fingerprint = source_fingerprint(source, version);
  const uint64_t file_bytes = bytes_of_folder(folder);
  RIDGE_TRY(check_free_memory(options, file_bytes));
  RIDGE_ASSIGN(LanguageFiles texts, read_language_files(checkpoint, config.generation_config));
  if (!texts.writes_chat)
    log::warning("{} is for completions, not for chats: {}", source.name, texts.writes_chat.error().message);
  RIDGE_ASSIGN(auto decoder, options.open_decoder ? options.open_decoder(config.plan)
                                                  : engine::open_decoder(config.plan, *options.clock));
  RIDGE_ASSIGN(generate::Settings generation, generation_of(options, config, decoder->info(), file_bytes));
  RIDGE_TRY(decoder->reserve(generation.blocks));
  std::optional<WarmUps::Scope> warming(std::in_place, context.warm_ups, source.name);
  RIDGE_TRY(warm_up(options, *decoder, generation, context.stop));
  warming.reset();
  StepBound bound = options.step_bound ? options.step_bound(config.plan, decoder->info()) : StepBound();
  std::vector<int32_t> stops(texts.stop_tokens.begin(), texts.stop_tokens.end());
  std::erase_if(stops, [&](int32_t token) { return token >= decoder->info().vocabulary; });
  texts.stop_tokens = std::move(stops);
  RIDGE_TRY(keep_mapped_files(folder));
  if (guard.lost_memory() || source_fingerprint(source, version) != fingerprint)
    return Error{Code::kUnavailable,
                 "its files were changed while they were read; load it again when they are complete"};
  return LoadedLanguageModel{std::move(config.settings),
                             std::make_shared<const Json>(config_to_json(*config.completed)),
                             std::move(texts),
                             std::move(decoder),
                             generation,
                             std::move(bound),
                             options.queue_limit,
                             options.clock->now() - start,
                             file_bytes,
                             std::move(fingerprint),
                             source.files};
}

}  // namespace

bool is_language_model(const ModelSource& source, int64_t version) {
  const std::string path = version_path(source.directory, version);
  return source.config->default_model_filename().empty() && checkpoint_of(path) &&
         (checkpoint::is_gguf(path) || !find_file(source, version));
}

Result<std::shared_ptr<Servable>> load_language_model(const LoadContext& context, const ModelSource& source,
                                                      int64_t version) {
  context.await_retired(source.name);
  RIDGE_ASSIGN(LoadedLanguageModel loaded, open_model(context, source, version));
  const engine::DecoderInfo& info = loaded.decoder->info();
  log::info("language model '{}' version {} is ready after {:.2f} s: {} {} on {}, weights {}, context {}, cache for {}",
            source.name, version, to_seconds(loaded.load_time), info.engine.name, info.engine.version,
            info.engine.device, format_bytes(static_cast<double>(info.weight_bytes)), loaded.generation.context,
            counted(loaded.generation.blocks * info.cache.block_tokens, "token"));
  auto served =
      std::make_shared<LanguageModel>(std::move(loaded), context.timer, *context.options.clock, context.run_limit);
  served->start();
  return std::shared_ptr<Servable>(std::move(served));
}

}  // namespace ridge::serve
