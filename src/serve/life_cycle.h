// LifeCycle: loads, replaces and unloads models; the only writer of the ModelTable.
//
// Thread-safe. One caller at a time works on a model; different models do not wait for one another. A failed load changes
// nothing for serving versions.
#pragma once

#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "serve/deadline_timer.h"
#include "serve/heap_keeper.h"
#include "serve/model_loader.h"
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
  // Loads these from the repository, `at_once` at the same time; failures are logged and recorded in the table.
  void load_many(const std::vector<std::string>& models, int at_once);
  // The server is not ready until these serve, or are withdrawn.
  void require(const std::vector<std::string>& models) { table_.require(models); }
  // Nothing of the model serves any more when it returns; accepted requests are still answered.
  void unload(const std::string& model);
  // Records that a model required from the start was not found, and the reason.
  void miss(const std::string& model, const std::string& reason);
  // No load begins any more, and those under way end after the step that they are in. Does not wait.
  void stop_loading() { loading_.request_stop(); }
  // Unloads everything, refuses loads, and waits until all accepted requests are answered.
  void close();

  const ModelTable& table() const { return table_; }
  const WarmUps& warm_ups() const { return warm_ups_; }

 private:
  Status load_steps(const std::string& model, const LoadRequest& request);
  Result<Versions> load_guarded(const ModelSource& source);
  Result<Versions> load_versions(const ModelSource& source);
  std::string for_clients(const std::string& message) const;
  std::shared_ptr<Mutex> turn_of(const std::string& model);

  const ServerOptions& options_;
  const std::shared_ptr<ResponseCache> cache_;  // null: none
  ModelTable table_;
  WarmUps warm_ups_;
  DeadlineTimer timer_;  // before the versions that use it
  Reaper reaper_;
  std::stop_source loading_;
  Mutex turns_mutex_;
  std::map<std::string, std::shared_ptr<Mutex>> turns_ RIDGE_GUARDED_BY(turns_mutex_);  // one per model in work
};

}  // namespace ridge::serve
