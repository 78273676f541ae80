#include "serve/life_cycle.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <iterator>
#include <thread>
#include <utility>

#include "base/log.h"
#include "serve/ensemble.h"
#include "serve/ensemble_loader.h"
#include "serve/language_loader.h"
#include "serve/public_text.h"
#include "serve/repository.h"
#include "serve/tensor_loader.h"

namespace ridge::serve {
namespace {

// The first that takes a version loads it.
constexpr Loader kLoaders[] = {
    {[](const ModelSource& source, int64_t) { return source.ensemble; }, load_ensemble},
    {is_language_model, load_language_model},
    {[](const ModelSource&, int64_t) { return true; }, load_tensor_model},
};

// An already serving version of the same content.
VersionPtr find_unchanged(const Versions& serving, const std::string& fingerprint, int64_t version) {
  for (const VersionPtr& served : serving)
    if (served->settings().version == version && served->fingerprint() == fingerprint) return served;
  return nullptr;
}

// New versions know which one had their requests before: that of the same number, or the highest, which those without a
// number meant.
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
      warm_ups_(*options.clock),
      timer_(*options.clock),
      reaper_([this, &heap](const Servable& version) {
        table_.end_unload(version);
        heap.note();  // it is freed next
      }),
      context_{.options = options,
               .warm_ups = warm_ups_,
               .timer = timer_,
               .cache = options.response_cache_bytes > 0 ? std::make_shared<ResponseCache>(options.response_cache_bytes)
                                                         : nullptr,
               .run_limit = {options.run_limit,
                             [this](const Servable& given_up, const std::string& reason) {
                               reaper_.give_up(given_up);  // first: the index says why, not that it was replaced
                               table_.give_up(given_up, reason);
                             }},
               .stop = loading_.get_token(),
               .find = [this](const std::string& model, int64_t version) { return table_.find(model, version); },
               .await_retired =
                   [this](const std::string& model) {
                     reaper_.await_retired(model, table_.ready_versions(model), *options_.clock, options_.drain_time,
                                           loading_.get_token());
                   }} {}

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

// Loads models that do not serve, and the models that they need. A failure is in the log, and fails the ensemble.
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
      Result<VersionPtr> loaded = load_version(source, version);
      if (!loaded) return wrap(std::move(loaded).error(), fmt::format("version {}", version));
      served = std::move(*loaded);
    }
    if (Result<PartsPtr> parts = ensemble_parts(*served); !parts)
      return wrap(std::move(parts).error(), fmt::format("version {}", version));
    versions.push_back(std::move(served));
  }
  return versions;
}

Result<VersionPtr> LifeCycle::load_version(const ModelSource& source, int64_t version) {
  const auto* loader = std::ranges::find_if(kLoaders, [&](const Loader& each) { return each.takes(source, version); });
  RIDGE_ASSIGN(std::shared_ptr<Servable> loaded, loader->load(context_, source, version));
  if (loaded->settings().response_cache && !context_.cache)
    log::warning("model '{}' version {}: response_cache has no effect without --response-cache-bytes", source.name,
                 version);
  return reaper_.keep(std::move(loaded));
}

// The models, those that their ensembles need, and ensembles that wait; each group needs those before it alone.
// Ensembles that contain themselves, which no order helps, are among them.
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
    for (const std::string& model : ensemble_models(**served))
      if (for_ensembles_.contains(model)) unused.insert(model);
  }
  for (const VersionPtr& other : table_.ready_versions(""))
    if (other->settings().name != ensemble)
      for (const std::string& model : ensemble_models(*other)) unused.erase(model);
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
