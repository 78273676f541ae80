#include "serve/life_cycle.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <iterator>
#include <thread>
#include <utility>

#include "base/log.h"
#include "base/units.h"
#include "serve/public_text.h"
#include "serve/repository.h"

namespace ridge::serve {
namespace {

constexpr size_t kDeepestNesting = 16;  // ensembles within ensembles

// An already serving version of the same content.
VersionPtr find_unchanged(const Versions& serving, const std::string& fingerprint, int64_t version) {
  for (const VersionPtr& served : serving)
    if (served->settings().version == version && served->fingerprint() == fingerprint) return served;
  return nullptr;
}

// New versions know which one had their requests before: that of the same number, or the highest, which those without a number meant.
void follow(const Versions& serving, const Versions& next) {
  for (const VersionPtr& version : next) {
    if (serving.empty() || std::find(serving.begin(), serving.end(), version) != serving.end()) continue;
    const auto same = std::find_if(serving.begin(), serving.end(), [&](const VersionPtr& served) {
      return served->settings().version == version->settings().version;
    });
    version->follow(same != serving.end() ? *same : serving.back());
  }
}

}  // namespace

LifeCycle::LifeCycle(const ServerOptions& options, HeapKeeper& heap)
    : options_(options),
      cache_(options.response_cache_bytes > 0 ? std::make_shared<ResponseCache>(options.response_cache_bytes)
                                              : nullptr),
      limiter_(options.rate_limit ? std::make_shared<RateLimiter>(options.resource_limits) : nullptr),
      warm_ups_(*options.clock),
      timer_(*options.clock),
      reaper_([this, &heap](const Servable& version) {
        table_.end_unload(version);
        heap.note();  // it is freed next
      }) {}

LifeCycle::~LifeCycle() { close(); }

std::shared_ptr<Mutex> LifeCycle::turn_of(const std::string& model) {
  MutexLock lock(turns_mutex_);
  std::erase_if(turns_, [](const auto& entry) { return entry.second.use_count() == 1; });
  auto& turn = turns_[model];
  if (!turn) turn = std::make_shared<Mutex>();
  return turn;
}

Status LifeCycle::load(const std::string& model, const LoadRequest& request) {
  std::set<std::string> seen{model};
  load_models_of(model, request, seen);
  note_loaded(model, false);
  return load_alone(model, request);
}

// Those that do not serve, and what they need themselves. What fails is in the log, and fails the ensemble.
void LifeCycle::load_models_of(const std::string& ensemble, const LoadRequest& request, std::set<std::string>& seen) {
  for (const std::string& model : models_of_ensemble(options_, ensemble, request)) {
    if (!seen.insert(model).second || serves(model)) continue;
    load_models_of(model, {}, seen);
    note_loaded(model, true);
    (void)load_alone(model, {}).ok();
  }
}

void LifeCycle::note_loaded(const std::string& model, bool for_ensemble) {
  MutexLock lock(names_mutex_);
  if (for_ensemble)
    for_ensembles_.insert(model);
  else
    for_ensembles_.erase(model);
}

Status LifeCycle::load_alone(const std::string& model, const LoadRequest& request) {
  auto turn = turn_of(model);
  MutexLock lock(*turn);
  if (loading_.stop_requested()) return shutting_down();
  Status loaded = load_caught(model, request);
  if (loaded) return {};
  if (loading_.stop_requested()) {
    log::info("the load of model '{}' was cancelled", model);
    return shutting_down();
  }
  log::error("failed to load '{}', {}", model.substr(0, 300), loaded.error().message);
  return Error{loaded.error().code, for_clients(loaded.error().message)};
}

// Threads and memory may be exhausted meanwhile: then only this load fails.
Status LifeCycle::load_caught(const std::string& model, const LoadRequest& request) {
  try {
    return load_steps(model, request);
  } catch (const std::exception& e) {
    return Error{Code::kExhausted, fmt::format("out of threads or memory ({}); use fewer instances", e.what())};
  }
}

// The log has the whole paths.
std::string LifeCycle::for_clients(const std::string& message) const {
  std::vector<FolderName> folders;
  std::error_code error;
  for (const std::string& repository : options_.repositories) {
    const bool file = std::filesystem::is_regular_file(repository, error);
    folders.emplace_back(file ? std::filesystem::path(repository).parent_path().string() : repository, "");
  }
  return without_folders(message, folders);
}

Status LifeCycle::load_steps(const std::string& model, const LoadRequest& request) {
  Result<ModelSource> source = read_source(options_, model, request);
  if (!source) {
    auto found = find_model(options_.repositories, model);
    if (found)
      table_.fail_load(model, list_versions(found->path), for_clients(source.error().message));
    else
      table_.fail_unknown(model);
    return std::move(source).error();
  }
  if (!source->ensemble) return load_and_publish(*source);
  MutexLock lock(ensembles_mutex_);
  return load_and_publish(*source);
}

Status LifeCycle::load_and_publish(const ModelSource& source) {
  const std::string& model = source.name;
  table_.begin_load(model, source.versions);
  Result<Versions> versions = load_guarded(source);
  if (!versions) {
    Error error = std::move(versions).error();
    if (source.ensemble) {
      MutexLock lock(names_mutex_);
      waiting_.insert(model);
    }
    if (source.files) error.message = without_folders(error.message, {{source.directory, model + "/"}});
    table_.fail_load(model, source.versions, for_clients(error.message));
    return error;
  }
  follow(table_.ready_versions(model), *versions);
  RIDGE_TRY(table_.publish(model, *versions));
  reaper_.serve(*versions);
  return {};
}

// Threads and memory may be exhausted meanwhile: then only this load fails.
Result<Versions> LifeCycle::load_guarded(const ModelSource& source) {
  try {
    return load_versions(source);
  } catch (const std::exception& e) {
    return Error{Code::kExhausted, fmt::format("out of threads or memory ({}); use fewer instances", e.what())};
  }
}

Result<Versions> LifeCycle::load_versions(const ModelSource& source) {
  Versions serving = table_.ready_versions(source.name);
  Versions versions;
  for (int64_t version : source.versions) {
    VersionPtr served = find_unchanged(serving, source_fingerprint(source, version), version);
    if (!served) {
      Result<VersionPtr> loaded = source.ensemble                      ? load_ensemble(source, version)
                                  : is_language_model(source, version) ? load_language_model(source, version)
                                                                       : load_model(source, version);
      if (!loaded) return wrap(std::move(loaded).error(), fmt::format("version {}", version));
      served = std::move(*loaded);
    }
    if (Result<PartsPtr> parts = served->find_parts(); !parts)
      return wrap(std::move(parts).error(), fmt::format("version {}", version));
    versions.push_back(std::move(served));
  }
  return versions;
}

// A batch that is spread over several instances would need the resources of all.
Status LifeCycle::set_rate_limits(LoadedModel& loaded) const {
  const ModelSettings& settings = loaded.settings;
  if (settings.rate_limits.empty()) return {};
  if (!limiter_) {
    log::warning("model '{}' version {}: rate_limiter has no effect without --rate-limit=execution_count",
                 settings.name, settings.version);
    return {};
  }
  RIDGE_ASSIGN(loaded.limits, limiter_->add(settings.rate_limits));
  loaded.settings.queue.spread = false;
  return {};
}

void LifeCycle::warn_without_cache(const ModelSettings& settings) const {
  if (settings.response_cache && !cache_)
    log::warning("model '{}' version {}: response_cache has no effect without --response-cache-bytes", settings.name,
                 settings.version);
}

Result<VersionPtr> LifeCycle::load_model(const ModelSource& source, int64_t version) {
  RIDGE_ASSIGN(LoadedModel loaded, load_version(options_, source, version, warm_ups_, loading_.get_token()));
  RIDGE_TRY(set_rate_limits(loaded));
  const engine::Info& engine = loaded.sessions.front()->info();
  log::info("model '{}' version {} is ready after {:.2f} s: {} {} on {}, {}", source.name, version,
            to_seconds(loaded.load_time), engine.name, engine.version, engine.device,
            counted(loaded.sessions.size(), "instance"));
  warn_without_cache(loaded.settings);
  auto served = std::make_shared<ServedVersion>(std::move(loaded), timer_, *options_.clock, options_.recorder.get(),
                                                run_limit(), cache_);
  served->start();
  return reaper_.keep(std::move(served));
}

RunLimit LifeCycle::run_limit() {
  return {options_.run_limit, [this](const Servable& given_up, const std::string& reason) {
            reaper_.give_up(given_up);  // first: the index says why, not that it was replaced
            table_.give_up(given_up, reason);
          }};
}

// Beside the new version there is memory for one old one: those before it end first.
Result<VersionPtr> LifeCycle::load_language_model(const ModelSource& source, int64_t version) {
  reaper_.await_retired(source.name, table_.ready_versions(source.name), *options_.clock, options_.drain_time,
                        loading_.get_token());
  RIDGE_ASSIGN(LoadedLanguageModel loaded,
               serve::load_language_model(options_, source, version, warm_ups_, loading_.get_token()));
  const engine::DecoderInfo& info = loaded.decoder->info();
  log::info("language model '{}' version {} is ready after {:.2f} s: {} {} on {}, weights {}, context {}, cache for {}",
            source.name, version, to_seconds(loaded.load_time), info.engine.name, info.engine.version,
            info.engine.device, format_bytes(static_cast<double>(info.weight_bytes)), loaded.generation.context,
            counted(loaded.generation.blocks * info.cache.block_tokens, "token"));
  auto served = std::make_shared<LanguageModel>(std::move(loaded), timer_, *options_.clock, run_limit());
  served->start();
  return reaper_.keep(std::move(served));
}

Result<VersionPtr> LifeCycle::load_ensemble(const ModelSource& source, int64_t version) {
  RIDGE_ASSIGN(LoadedEnsemble loaded, serve::load_ensemble(options_, source, version));
  warn_without_cache(loaded.settings);
  const size_t steps = loaded.plan.steps.size();
  auto ensemble = std::make_shared<Ensemble>(
      std::move(loaded), [this](const std::string& model, int64_t number) { return table_.find(model, number); },
      *options_.clock, cache_);
  RIDGE_TRY(check_nesting(*ensemble));
  log::info("ensemble '{}' version {} of {} is loaded", source.name, version, counted(steps, "step"));
  return reaper_.keep(std::move(ensemble));
}

// That no ensemble is among the models of its own steps, and of theirs; of those that do not serve as their configurations have it.
Status LifeCycle::check_nesting(const Servable& ensemble) const {
  const std::string& name = ensemble.settings().name;
  std::vector<std::vector<std::string>> ways;
  std::set<std::pair<std::string, size_t>> seen;  // models, each at a depth: ways of one length go on alike
  for (const std::string& model : ensemble.models()) ways.push_back({name, model});
  for (size_t i = 0; i < ways.size(); ++i) {
    const std::vector<std::string> way = ways[i];
    if (way.back() == name)
      return invalid(fmt::format("an ensemble cannot contain itself: '{}'", fmt::join(way, "' → '")));
    if (way.size() > kDeepestNesting)
      return invalid(
          fmt::format("ensembles are nested deeper than {}: '{}'", kDeepestNesting, fmt::join(way, "' → '")));
    if (!seen.emplace(way.back(), way.size()).second) continue;
    const Result<VersionPtr> next = table_.find(way.back(), 0);
    for (const std::string& model : next ? (*next)->models() : models_of_ensemble(options_, way.back(), {})) {
      ways.push_back(way);
      ways.back().push_back(model);
    }
  }
  return {};
}

// The models, those that their ensembles need, and ensembles that wait; each group needs those before it alone. Ensembles that contain themselves, which no order
// helps, are among them.
std::vector<std::vector<std::string>> LifeCycle::in_order(const std::vector<std::string>& models) {
  std::map<std::string, std::vector<std::string>> needs;
  std::vector<std::string> names = models;
  {
    MutexLock lock(names_mutex_);
    std::ranges::copy(std::exchange(waiting_, {}), std::back_inserter(names));
  }
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string name = names[i];
    if (needs.contains(name)) continue;
    for (const std::string& model : needs[name] = models_of_ensemble(options_, name, {})) {
      if (std::find(names.begin(), names.end(), model) != names.end() || serves(model)) continue;
      names.push_back(model);
      note_loaded(model, true);
    }
  }
  std::vector<std::vector<std::string>> groups;
  while (!needs.empty()) {
    std::vector<std::string> group;
    for (const auto& [name, before] : needs)
      if (std::none_of(before.begin(), before.end(), [&](const std::string& model) { return needs.contains(model); }))
        group.push_back(name);
    if (group.empty())
      for (const auto& [name, before] : needs) group.push_back(name);
    for (const std::string& name : group) needs.erase(name);
    groups.push_back(std::move(group));
  }
  return groups;
}

void LifeCycle::load_many(const std::vector<std::string>& models, int at_once) {
  if (models.empty()) return;
  for (const std::vector<std::string>& group : in_order(models)) load_at_once(group, at_once);
}

void LifeCycle::load_at_once(const std::vector<std::string>& models, int at_once) {
  std::atomic<size_t> next{0};
  auto work = [&] {
    for (size_t i = next++; i < models.size() && !loading_.stop_requested(); i = next++)
      (void)load_alone(models[i], {}).ok();
  };
  std::vector<std::jthread> threads;
  int wanted = std::min<int>(at_once, static_cast<int>(models.size()));
  for (int i = 1; i < wanted; ++i) threads.emplace_back(work);
  work();
}

void LifeCycle::unload(const std::string& model, bool dependents) {
  const std::vector<std::string> unused = dependents ? unused_models_of(model) : std::vector<std::string>();
  {
    auto turn = turn_of(model);
    MutexLock lock(*turn);
    table_.withdraw(model);
    MutexLock names(names_mutex_);
    waiting_.erase(model);
  }
  for (const std::string& each : unused) unload(each, true);
}

// The models of a serving ensemble that were loaded for ensembles, and that no other one needs.
std::vector<std::string> LifeCycle::unused_models_of(const std::string& ensemble) {
  const Result<VersionPtr> served = table_.find(ensemble, 0);
  if (!served) return {};
  std::set<std::string> unused;
  {
    MutexLock lock(names_mutex_);
    for (const std::string& model : (*served)->models())
      if (for_ensembles_.contains(model)) unused.insert(model);
  }
  for (const VersionPtr& other : table_.ready_versions(""))
    if (other->settings().name != ensemble)
      for (const std::string& model : other->models()) unused.erase(model);
  return {unused.begin(), unused.end()};
}

void LifeCycle::miss(const std::string& model, const std::string& reason) {
  log::error("failed to load '{}', {}", model.substr(0, 300), reason);
  table_.miss(model, reason);
}

void LifeCycle::close() {
  stop_loading();
  table_.close();
  reaper_.wait();
}

}  // namespace ridge::serve
