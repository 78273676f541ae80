// ModelTable: the currently served versions of models, and the state of every known version. The only place where
// requests find their model.
//
// Thread-safe. Versions are replaced whole: a reader gets a shared_ptr and may use it as long as it likes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "serve/servable.h"

namespace ridge::serve {

using Versions = std::vector<VersionPtr>;

class ModelTable {
 public:
  // The version that serves; 0 = the highest. kNotFound: unknown; kUnavailable: known, but not ready.
  Result<VersionPtr> find(const std::string& model, int64_t version) const;
  // All ready versions, of one model or (empty name) of all, by name and version.
  Versions ready_versions(const std::string& model) const;
  // One entry per known version; of a model whose load failed before its versions were known, one with version 0 and
  // the reason.
  std::vector<IndexEntry> index() const;
  // Models that require() named and that should be served and are not READY, without those that miss() named.
  std::vector<std::string> unready() const;
  // The highest serving version of each model that require() named.
  Versions required() const;
  // True if a model that miss() named has been neither loaded nor withdrawn since.
  bool misses_any() const;

  // Per known model: how many of its loads failed since it became known, by name.
  std::vector<std::pair<std::string, uint64_t>> failed_loads() const;

  // The same of versions that were given up.
  std::vector<std::pair<std::string, uint64_t>> given_up() const;

  void require(const std::vector<std::string>& models);
  // A load has begun of these versions.
  void begin_load(const std::string& model, const std::vector<int64_t>& versions);
  // Makes exactly these versions serve; those that do not any more are UNLOADING until end_unload(). kUnavailable,
  // and nothing changes, after close().
  Status publish(const std::string& model, const Versions& versions);
  // The load has failed; the previous version still serves.
  void fail_load(const std::string& model, const std::vector<int64_t>& versions, const std::string& reason);
  // Ends a load that failed because the model is unknown: it need not be served unless it still is.
  void fail_unknown(const std::string& model);
  // Notes a model that is missing although the server was started to serve it.
  void miss(const std::string& model, const std::string& reason);
  // Nothing of it serves from now on. Neither it nor the ensembles that need it, at any depth, are required any more:
  // who unloads a model wants that.
  void withdraw(const std::string& model);
  // It does not serve any more, for that reason.
  void give_up(const Servable& version, const std::string& reason);
  void end_unload(const Servable& version);
  // withdraw() of everything, for good.
  void close();

 private:
  struct Version {
    ModelState state = ModelState::kUnavailable;
    std::string reason;
    VersionPtr served;
  };
  struct Model {
    std::map<int64_t, Version> versions;
    VersionPtr highest;     // that serves
    bool wanted = false;    // should be served
    bool required = false;  // by the server's readiness
    bool missed = false;    // requested from the start, and never found
    std::string failure;    // of the last load, if it failed before versions were known
    uint64_t failed_loads = 0, given_up = 0;
  };
  using Counter = uint64_t Model::*;
  std::vector<std::pair<std::string, uint64_t>> counts(Counter counter) const;
  static void replace(Model& model, const Versions& versions);
  void release_ensembles_of(const std::string& model) RIDGE_REQUIRES(mutex_);

  mutable Mutex mutex_;
  std::unordered_map<std::string, Model> models_ RIDGE_GUARDED_BY(mutex_);
  bool closed_ RIDGE_GUARDED_BY(mutex_) = false;
};

}  // namespace ridge::serve
