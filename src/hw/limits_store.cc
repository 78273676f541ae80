#include "hw/limits_store.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/file.h"
#include "base/log.h"
#include "base/utc.h"

namespace ridge::hw {
namespace {

constexpr int64_t kFileVersion = 1;

// Held while one process measures. Where it cannot be had (read-only folder), measuring goes on without.
class MeasuringLock {
 public:
  explicit MeasuringLock(const std::string& cache_file) {
    std::error_code failure;
    std::filesystem::create_directories(std::filesystem::path(cache_file).parent_path(), failure);
    descriptor_ = open((cache_file + ".lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666);
    if (descriptor_ < 0 || flock(descriptor_, LOCK_EX | LOCK_NB) == 0) return;
    waited_ = true;
    while (flock(descriptor_, LOCK_EX) != 0 && errno == EINTR) continue;
  }
  ~MeasuringLock() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  MeasuringLock(const MeasuringLock&) = delete;
  MeasuringLock& operator=(const MeasuringLock&) = delete;
  bool waited() const { return waited_; }  // another process measured meanwhile, perhaps this very machine

 private:
  int descriptor_ = -1;
  bool waited_ = false;
};

// The file's content; an empty store if there is none; an error if it is not a store.
Result<Json> read_store(const std::string& file) {
  Json empty = {{"version", kFileVersion}, {"machines", Json::object()}};
  Result<std::string> text = read_file(file);
  if (!text && text.error().code == Code::kNotFound) return empty;
  if (!text) return std::move(text).error();
  RIDGE_ASSIGN(Json store, parse_json(*text, "machine cache " + file));
  Result<int64_t> version = json_member<int64_t>(store, "version");
  if (!version || *version != kFileVersion || !store.contains("machines") || !store["machines"].is_object())
    return Error{Code::kInvalid, "machine cache " + file + " is not of version " + std::to_string(kFileVersion)};
  return store;
}

std::optional<Machine> find(const Json& store, const std::string& file, const std::string& id) {
  auto entry = store["machines"].find(id);
  if (entry == store["machines"].end()) return std::nullopt;
  Result<Machine> machine = machine_from_json(*entry);
  if (machine && !machine->peaks.empty() && !machine->bandwidths.empty()) return std::move(*machine);
  log::warning("machine cache {}: the entry {} is damaged ({}), measuring again", file, id,
               machine ? "it holds no limits" : machine.error().message);
  return std::nullopt;
}

// Limits from the store, put beside what was probed now.
bool recall(Machine& machine, const std::string& file) {
  Result<Json> store = read_store(file);
  if (!store) {
    log::warning("{}; measuring again", store.error().message);
    return false;
  }
  std::optional<Machine> known = find(*store, file, machine.id);
  if (!known) return false;
  machine.measured_at = std::move(known->measured_at);
  machine.peaks = std::move(known->peaks);
  machine.bandwidths = std::move(known->bandwidths);
  return true;
}

void remember(const Machine& machine, const std::string& file) {
  Result<Json> read = read_store(file);  // again: another process may have added its machine meanwhile
  Json store = read ? std::move(*read) : Json{{"version", kFileVersion}, {"machines", Json::object()}};
  store["machines"][machine.id] = to_json(machine);
  if (Status written = write_file_atomically(file, dump_json(store, true) + "\n"); !written)
    log::warning("the measured limits are not kept: {}", written.error().message);
}

}  // namespace

std::string default_cache_file() {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  if (cache && *cache) return std::string(cache) + "/ridge/machine.json";
  const char* home = std::getenv("HOME");
  return home && *home ? std::string(home) + "/.cache/ridge/machine.json" : std::string();
}

Result<Machine> recall_or_measure(Machine machine, const LimitOptions& options, const Measure& measure) {
  std::string file = options.cache_file.empty() ? default_cache_file() : options.cache_file;
  if (!options.fresh && !file.empty() && recall(machine, file)) return machine;
  std::optional<MeasuringLock> lock;
  if (!file.empty()) {
    lock.emplace(file);
    if (lock->waited() && !options.fresh && recall(machine, file)) return machine;
  }
  RIDGE_ASSIGN(Limits limits, measure(machine));
  machine.measured_at = now_in_utc();
  machine.peaks = std::move(limits.peaks);
  machine.bandwidths = std::move(limits.bandwidths);
  if (!file.empty()) remember(machine, file);
  return machine;
}

}  // namespace ridge::hw
