#include "engine/onnxruntime/environment.h"

#include <map>
#include <vector>

#include "base/log.h"
#include "base/mutex.h"
#include "engine/onnxruntime/handles.h"
#include "engine/onnxruntime/placement.h"

namespace ridge::engine::onnxruntime {
namespace {

struct EnvironmentEntry {
  OrtEnv* env = nullptr;
  SharedOptions shared;  // its creation options; the arena may come later
};

// Entries are never removed.
struct Environments {
  Mutex mutex;
  std::map<const Library*, EnvironmentEntry> by_library RIDGE_GUARDED_BY(mutex);
};

Environments& environments() {
  static auto* table = new Environments;  // leaked: sessions may end after static destruction
  return *table;
}

log::Level to_ours(OrtLoggingLevel level) {
  switch (level) {
    case ORT_LOGGING_LEVEL_VERBOSE:
    case ORT_LOGGING_LEVEL_INFO: return log::Level::kDebug;
    case ORT_LOGGING_LEVEL_WARNING: return log::Level::kWarning;
    case ORT_LOGGING_LEVEL_ERROR:
    case ORT_LOGGING_LEVEL_FATAL: return log::Level::kError;
  }
  return log::Level::kError;
}

void ORT_API_CALL write_log(void*, OrtLoggingLevel level, const char*, const char*, const char*, const char* message) {
  PlacementListener::hear(message);
  log::write(to_ours(level), "onnxruntime: " + without_places(message));
}

OrtLoggingLevel wanted_severity() {
  switch (log::level()) {
    case log::Level::kDebug: return ORT_LOGGING_LEVEL_INFO;
    case log::Level::kInfo:
    case log::Level::kWarning: return ORT_LOGGING_LEVEL_WARNING;
    case log::Level::kError: return ORT_LOGGING_LEVEL_ERROR;
    case log::Level::kOff: return ORT_LOGGING_LEVEL_FATAL;
  }
  return ORT_LOGGING_LEVEL_WARNING;
}

Status make_with_pool(const OrtApi& api, const SharedOptions& shared, EnvironmentEntry& made) {
  ThreadingOptionsHandle pool(api);
  RIDGE_TRY(take(api, api.CreateThreadingOptions(pool.out())));
  RIDGE_TRY(take(api, api.SetGlobalIntraOpNumThreads(pool.get(), *shared.threads)));
  RIDGE_TRY(take(api, api.SetGlobalInterOpNumThreads(pool.get(), 1)));
  if (shared.spin != plan::Spin::kDefault)
    RIDGE_TRY(take(api, api.SetGlobalSpinControl(pool.get(), shared.spin == plan::Spin::kOn ? 1 : 0)));
  return take(api, api.CreateEnvWithCustomLoggerAndGlobalThreadPools(write_log, nullptr, wanted_severity(), "ridge",
                                                                     pool.get(), &made.env));
}

Status make(const OrtApi& api, const SharedOptions& wanted, EnvironmentEntry& made) {
  if (wanted.threads)
    RIDGE_TRY(make_with_pool(api, wanted, made));
  else
    RIDGE_TRY(take(api, api.CreateEnvWithCustomLogger(write_log, nullptr, wanted_severity(), "ridge", &made.env)));
  made.shared.threads = wanted.threads;
  return take(api, api.DisableTelemetryEvents(made.env));
}

Status add_arena(const Library& library, const std::map<std::string, int64_t>& arena, EnvironmentEntry& made) {
  const OrtApi& api = *library.api;
  std::vector<const char*> keys;
  std::vector<size_t> values;
  for (const auto& [key, value] : arena) {
    keys.push_back(key.c_str());
    values.push_back(static_cast<size_t>(value));  // -1, the engine's default, in the API's form
  }
  ArenaSettingsHandle settings(api);
  RIDGE_TRY(take(api, api.CreateArenaCfgV2(keys.data(), values.data(), keys.size(), settings.out())));
  RIDGE_TRY(take(api, api.CreateAndRegisterAllocator(made.env, library.cpu_memory.get(), settings.get())));
  made.shared.arena = arena;
  return {};
}

Error decided(const std::string& what) {
  return {Code::kInvalid, "the process's first session decides on " + what +
                              "; give all sessions that share it the same option, and load those first"};
}

}  // namespace

Result<OrtEnv*> environment(const Library& library, const SharedOptions& wanted) {
  Environments& table = environments();
  MutexLock lock(table.mutex);  // held during creation: two threads must not both do it
  EnvironmentEntry& made = table.by_library[&library];
  if (made.env == nullptr) RIDGE_TRY(make(*library.api, wanted, made));
  if (wanted.threads && made.shared.threads != wanted.threads) return decided("ridge.shared_threads");
  if (!wanted.arena.empty() && made.shared.arena.empty()) RIDGE_TRY(add_arena(library, wanted.arena, made));
  if (!wanted.arena.empty() && made.shared.arena != wanted.arena) return decided("ridge.arena");
  return made.env;
}

}  // namespace ridge::engine::onnxruntime
