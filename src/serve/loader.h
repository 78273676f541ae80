// Loader: opens versions of one kind of model. A new kind is one more Loader, in the table of life_cycle.cc.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "serve/deadline_timer.h"
#include "serve/model_source.h"
#include "serve/response_cache.h"
#include "serve/run_watch.h"
#include "serve/servable.h"
#include "serve/server.h"
#include "serve/warm_ups.h"

namespace ridge::serve {

// What loaders, and what they load, have of the server; it outlives them.
struct LoadContext {
  const ServerOptions& options;
  WarmUps& warm_ups;
  DeadlineTimer& timer;
  std::shared_ptr<ResponseCache> cache;  // null: none
  RunLimit run_limit;
  std::stop_token stop;  // no load goes on
  // The version that serves, as ModelTable::find.
  std::function<Result<VersionPtr>(const std::string& model, int64_t version)> find;
  // Waits until at most one version of the model has not ended.
  std::function<void(const std::string& model)> await_retired;
};

struct Loader {
  // Whether the version is of its kind.
  bool (*takes)(const ModelSource& source, int64_t version);
  // Opens it, so that it can serve. kCancelled: `stop` came before it was done.
  Result<std::shared_ptr<Servable>> (*load)(const LoadContext& context, const ModelSource& source, int64_t version);
};

}  // namespace ridge::serve
