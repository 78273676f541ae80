#include "serve/life_cycle.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <thread>

#include "base/log.h"
#include "base/units.h"
#include "serve/public_text.h"
#include "serve/repository.h"

namespace ridge::serve {
namespace {

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
      warm_ups_(*options.clock),
      timer_(*options.clock),
      reaper_([this, &heap](const ServedVersion& version) {
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
  auto turn = turn_of(model);
  MutexLock lock(*turn);
  if (loading_.stop_requested()) return shutting_down();
  Status loaded = load_steps(model, request);
  if (loaded) return {};
  if (loading_.stop_requested()) {
    log::info("the load of model '{}' was cancelled", model);
    return shutting_down();
  }
  log::error("failed to load '{}', {}", model.substr(0, 300), loaded.error().message);
  return Error{loaded.error().code, for_clients(loaded.error().message)};
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
  table_.begin_load(model, source->versions);
  Result<Versions> versions = load_guarded(*source);
  if (!versions) {
    Error error = std::move(versions).error();
    if (source->files) error.message = without_folders(error.message, {{source->directory, model + "/"}});
    table_.fail_load(model, source->versions, for_clients(error.message));
    return error;
  }
  follow(table_.ready_versions(model), *versions);
  RIDGE_TRY(table_.publish(model, *versions));
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
    if (VersionPtr unchanged = find_unchanged(serving, source_fingerprint(source, version), version)) {
      versions.push_back(std::move(unchanged));
      continue;
    }
    Result<LoadedModel> loaded = load_version(options_, source, version, warm_ups_, loading_.get_token());
    if (!loaded) return wrap(std::move(loaded).error(), fmt::format("version {}", version));
    const engine::Info& engine = loaded->sessions.front()->info();
    const size_t instances = loaded->sessions.size();
    log::info("model '{}' version {} is ready after {:.2f} s: {} {} on {}, {}", source.name, version,
              to_seconds(loaded->load_time), engine.name, engine.version, engine.device,
              counted(instances, "instance"));
    if (loaded->settings.response_cache && !cache_)
      log::warning("model '{}' version {}: response_cache has no effect without --response-cache-bytes", source.name,
                   version);
    RunLimit limit{options_.run_limit, [this](const ServedVersion& given_up, const std::string& reason) {
                     table_.give_up(given_up, reason);
                   }};
    auto served = std::make_shared<ServedVersion>(std::move(*loaded), timer_, *options_.clock, options_.recorder.get(),
                                                  std::move(limit), cache_);
    served->start();
    versions.push_back(reaper_.keep(std::move(served)));
  }
  return versions;
}

void LifeCycle::load_many(const std::vector<std::string>& models, int at_once) {
  std::atomic<size_t> next{0};
  auto work = [&] {
    for (size_t i = next++; i < models.size() && !loading_.stop_requested(); i = next++) (void)load(models[i], {}).ok();
  };
  std::vector<std::jthread> threads;
  int wanted = std::min<int>(at_once, static_cast<int>(models.size()));
  for (int i = 1; i < wanted; ++i) threads.emplace_back(work);
  work();
}

void LifeCycle::unload(const std::string& model) {
  auto turn = turn_of(model);
  MutexLock lock(*turn);
  table_.withdraw(model);
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
