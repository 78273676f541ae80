#include "serve/model_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "serve/ensemble.h"

namespace ridge::serve {
namespace {

constexpr const char* kUnloaded = "unloaded";  // the reason of a version that is gone by request

Error unknown_model(const std::string& model) {
  return {Code::kNotFound, fmt::format("Request for unknown model: '{}' is not found", model)};
}

}  // namespace

Result<VersionPtr> ModelTable::find(const std::string& model, int64_t version) const {
  MutexLock lock(mutex_);
  auto found = models_.find(model);
  if (found == models_.end()) return unknown_model(model);
  const Model& entry = found->second;
  if (version == 0) {
    if (entry.highest) return entry.highest;
    return Error{Code::kUnavailable, fmt::format("Request for unknown model: '{}' has no available versions", model)};
  }
  auto place = entry.versions.find(version);
  if (place == entry.versions.end())
    return Error{Code::kNotFound,
                 fmt::format("Request for unknown model: '{}' version {} is not found", model, version)};
  if (place->second.served) return place->second.served;
  return Error{Code::kUnavailable, fmt::format("Request for unavailable model: '{}' version {} is not ready ({}{}{})",
                                               model, version, model_state_name(place->second.state),
                                               place->second.reason.empty() ? "" : ": ", place->second.reason)};
}

Versions ModelTable::ready_versions(const std::string& model) const {
  Versions ready;
  {
    MutexLock lock(mutex_);
    for (const auto& [name, entry] : models_)
      if (model.empty() || name == model)
        for (const auto& [number, version] : entry.versions)
          if (version.served) ready.push_back(version.served);
  }
  std::sort(ready.begin(), ready.end(), [](const VersionPtr& a, const VersionPtr& b) {
    return std::tie(a->settings().name, a->settings().version) < std::tie(b->settings().name, b->settings().version);
  });
  return ready;
}

std::vector<IndexEntry> ModelTable::index() const {
  std::vector<IndexEntry> entries;
  {
    MutexLock lock(mutex_);
    for (const auto& [name, entry] : models_) {
      for (const auto& [number, version] : entry.versions)
        entries.push_back({name, number, version.state, version.reason});
      if (entry.versions.empty()) entries.push_back({name, 0, ModelState::kUnavailable, entry.failure});
    }
  }
  std::sort(entries.begin(), entries.end(), [](const IndexEntry& a, const IndexEntry& b) {
    return std::tie(a.name, a.version) < std::tie(b.name, b.version);
  });
  return entries;
}

std::vector<std::string> ModelTable::unready() const {
  MutexLock lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, entry] : models_)
    if (entry.required && entry.wanted && !entry.missed && !entry.highest) names.push_back(name);
  return names;
}

Versions ModelTable::required() const {
  MutexLock lock(mutex_);
  Versions versions;
  for (const auto& [name, entry] : models_)
    if (entry.required && entry.wanted && entry.highest) versions.push_back(entry.highest);
  return versions;
}

bool ModelTable::misses_any() const {
  MutexLock lock(mutex_);
  return std::any_of(models_.begin(), models_.end(), [](const auto& entry) { return entry.second.missed; });
}

std::vector<std::pair<std::string, uint64_t>> ModelTable::failed_loads() const { return counts(&Model::failed_loads); }
std::vector<std::pair<std::string, uint64_t>> ModelTable::given_up() const { return counts(&Model::given_up); }

std::vector<std::pair<std::string, uint64_t>> ModelTable::counts(Counter counter) const {
  std::vector<std::pair<std::string, uint64_t>> counts;
  {
    MutexLock lock(mutex_);
    for (const auto& [name, entry] : models_) counts.emplace_back(name, entry.*counter);
  }
  std::sort(counts.begin(), counts.end());
  return counts;
}

void ModelTable::require(const std::vector<std::string>& models) {
  MutexLock lock(mutex_);
  for (const std::string& model : models) models_[model].wanted = models_[model].required = true;
}

void ModelTable::begin_load(const std::string& model, const std::vector<int64_t>& versions) {
  MutexLock lock(mutex_);
  Model& entry = models_[model];
  entry.wanted = true;
  entry.missed = false;
  for (int64_t number : versions) {
    Version& version = entry.versions[number];
    if (version.served) continue;
    version.state = ModelState::kLoading;
    version.reason.clear();
  }
}

void ModelTable::replace(Model& model, const Versions& versions) {
  for (auto& [number, version] : model.versions) {
    if (!version.served) continue;
    auto kept = std::find(versions.begin(), versions.end(), version.served);
    if (kept != versions.end()) continue;
    version.state = ModelState::kUnloading;
    version.served = nullptr;
  }
  model.highest = nullptr;
  for (const VersionPtr& served : versions) {
    model.versions[served->settings().version] = {ModelState::kReady, served->settings().notice, served};
    if (!model.highest || served->settings().version > model.highest->settings().version) model.highest = served;
  }
}

Status ModelTable::publish(const std::string& model, const Versions& versions) {
  MutexLock lock(mutex_);
  if (closed_) return Error{Code::kUnavailable, "the server is shutting down"};
  Model& entry = models_[model];
  entry.wanted = true;
  entry.failure.clear();
  std::erase_if(entry.versions, [](const auto& known) {  // failures of earlier loads
    return known.second.state == ModelState::kUnavailable && known.second.reason != kUnloaded;
  });
  replace(entry, versions);
  return {};
}

void ModelTable::fail_load(const std::string& model, const std::vector<int64_t>& versions, const std::string& reason) {
  MutexLock lock(mutex_);
  Model& entry = models_[model];
  entry.wanted = true;
  entry.missed = false;
  entry.failure = reason;
  ++entry.failed_loads;
  for (int64_t number : versions) {
    Version& version = entry.versions[number];
    version.reason = version.served ? "serves as before; its last load failed: " + reason : reason;
    if (!version.served) version.state = ModelState::kUnavailable;
  }
}

void ModelTable::fail_unknown(const std::string& model) {
  MutexLock lock(mutex_);
  auto found = models_.find(model);
  if (found == models_.end() || found->second.highest || found->second.missed) return;
  found->second.wanted = false;
  if (found->second.versions.empty()) models_.erase(found);
}

void ModelTable::miss(const std::string& model, const std::string& reason) {
  MutexLock lock(mutex_);
  Model& entry = models_[model];
  entry.wanted = entry.missed = true;
  ++entry.failed_loads;
  entry.failure = reason;
}

void ModelTable::withdraw(const std::string& model) {
  MutexLock lock(mutex_);
  auto found = models_.find(model);
  if (found == models_.end()) return;
  release_ensembles_of(model);
  found->second.wanted = found->second.required = false;
  if (found->second.missed)
    models_.erase(found);
  else
    replace(found->second, {});
}

void ModelTable::release_ensembles_of(const std::string& model) {
  std::vector<std::string> gone = {model};
  for (size_t i = 0; i < gone.size(); ++i)
    for (auto& [name, entry] : models_) {
      if (!entry.highest || std::ranges::find(gone, name) != gone.end()) continue;
      const std::vector<std::string> needed = ensemble_models(*entry.highest);
      if (std::ranges::find(needed, gone[i]) == needed.end()) continue;
      entry.required = false;
      gone.push_back(name);
    }
}

void ModelTable::give_up(const Servable& version, const std::string& reason) {
  VersionPtr last;  // let go without the lock
  MutexLock lock(mutex_);
  auto found = models_.find(version.settings().name);
  if (found == models_.end()) return;
  Model& model = found->second;
  ++model.given_up;
  auto place = model.versions.find(version.settings().version);
  if (place == model.versions.end() || place->second.served.get() != &version) return;
  last = std::exchange(place->second.served, nullptr);
  place->second.state = ModelState::kUnavailable;
  place->second.reason = reason;
  model.highest = nullptr;
  for (const auto& [number, other] : model.versions)
    if (other.served) model.highest = other.served;
}

void ModelTable::end_unload(const Servable& version) {
  MutexLock lock(mutex_);
  auto found = models_.find(version.settings().name);
  if (found == models_.end()) return;
  auto place = found->second.versions.find(version.settings().version);
  if (place == found->second.versions.end() || place->second.state != ModelState::kUnloading) return;
  place->second.state = ModelState::kUnavailable;
  place->second.reason = kUnloaded;
}

void ModelTable::close() {
  MutexLock lock(mutex_);
  closed_ = true;
  for (auto& [name, entry] : models_) replace(entry, {});
}

}  // namespace ridge::serve
