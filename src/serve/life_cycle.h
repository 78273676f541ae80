// LifeCycle: loads, replaces and unloads models; the only writer of the ModelTable.
//
// Thread-safe. One caller at a time works on a model; different models do not wait for one another. A failed load
// changes nothing for serving versions.
//
// The models of an ensemble are loaded before it, where they do not serve. Ensembles are checked and published one at a
// time, so that none comes to contain itself.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "serve/deadline_timer.h"
#include "serve/heap_keeper.h"
#include "serve/loader.h"
#include "serve/model_table.h"
#include "serve/reaper.h"

namespace ridge::serve {

class LifeCycle {
 public:
  // `options` and `heap` outlive it.
  LifeCycle(const ServerOptions& options, HeapKeeper& heap);
  ~LifeCycle();

  // Returns when the model serves, or why not. Unchanged versions stay as they are.
  Status load(const std::string& model, const LoadRequest& request);
  // Loads these from the repository, `at_once` at the same time, and what their ensembles need; failures are logged and
  // recorded in the table. Ensembles that waited for a model are tried again.
  void load_many(const std::vector<std::string>& models, int at_once);
  // The server is not ready until these serve, or are withdrawn.
  void require(const std::vector<std::string>& models) { table_.require(models); }
  // Nothing of the model serves any more when it returns; accepted requests are still answered. `dependents`: the same
  // of models that were loaded for this ensemble alone, as Triton has it.
  void unload(const std::string& model, bool dependents = false);
  // Records that a model required from the start was not found, and the reason.
  void miss(const std::string& model, const std::string& reason);
  // No load begins any more, and those under way end after the step that they are in. Does not wait.
  void stop_loading() { loading_.request_stop(); }
  // Unloads everything, refuses loads, and waits until all accepted requests are answered.
  void close();

  // Refuses the requests that wait, and has the engines break off their runs: of all versions that have not ended.
  void abort() { reaper_.abort(); }

  // Versions that others have replaced, or that were unloaded, and that still answer.
  std::vector<std::shared_ptr<Servable>> retired() const { return reaper_.retired("", table_.ready_versions("")); }

  const ModelTable& table() const { return table_; }
  const WarmUps& warm_ups() const { return warm_ups_; }

 private:
  Status load_alone(const std::string& model, const LoadRequest& request);
  void load_models_of(const std::string& ensemble, const LoadRequest& request, std::set<std::string>& seen);
  std::vector<std::vector<std::string>> in_order(const std::vector<std::string>& models);
  void load_at_once(const std::vector<std::string>& models, int at_once);
  bool serves(const std::string& model) const { return table_.find(model, 0).ok(); }
  void note_loaded(const std::string& model, bool for_ensemble);
  std::vector<std::string> unused_models_of(const std::string& ensemble);
  Status load_caught(const std::string& model, const LoadRequest& request);
  Status load_steps(const std::string& model, const LoadRequest& request);
  Status load_and_publish(const ModelSource& source);
  Result<Versions> load_guarded(const ModelSource& source);
  Result<Versions> load_versions(const ModelSource& source);
  Result<VersionPtr> load_version(const ModelSource& source, int64_t version);
  std::string for_clients(const std::string& message) const;
  std::shared_ptr<Mutex> turn_of(const std::string& model);

  const ServerOptions& options_;
  ModelTable table_;
  WarmUps warm_ups_;
  DeadlineTimer timer_;  // before the versions that use it
  Reaper reaper_;
  std::stop_source loading_;
  const LoadContext context_;
  Mutex ensembles_mutex_;  // held from the check of an ensemble until it is published
  Mutex names_mutex_;
  std::set<std::string> for_ensembles_ RIDGE_GUARDED_BY(names_mutex_);  // loaded because an ensemble needs them
  std::set<std::string> waiting_
      RIDGE_GUARDED_BY(names_mutex_);  // ensembles whose last load failed, for want of a model perhaps
  Mutex turns_mutex_;
  std::map<std::string, std::shared_ptr<Mutex>> turns_ RIDGE_GUARDED_BY(turns_mutex_);  // one per model in work
};

}  // namespace ridge::serve
