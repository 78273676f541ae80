#include "limits/accelerator/store.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "limits/limits_file.h"

namespace ridge::limits::accelerator {
namespace {

constexpr size_t kMostSettings = 8;  // stored per device
constexpr const char* kGpus = "cards";

std::string key_of(const gpu::DeviceFacts& facts, const Setting& setting) {
  const char* api = facts.dialect == gpu::Dialect::kCuda ? "cuda" : "opencl";
  return fmt::format("{} {}{}{}", api, setting.gpu, setting.gpu.empty() ? "" : " ", setting.name);
}

struct Entry {
  double most_seconds = 0;
  DeviceMeasurement measured;
};

// True if the figures include a limit: without a kernel compiler a device has only its links measured.
bool bounds_something(const DeviceMeasurement& measured) {
  auto reached = [](const auto& row) { return row.result.best.has_value(); };
  return std::any_of(measured.peaks.begin(), measured.peaks.end(), reached) &&
         std::any_of(measured.bandwidths.begin(), measured.bandwidths.end(), reached);
}

Result<Entry> entry_from_json(const Json& json) {
  Entry entry;
  RIDGE_TRY(read_fields(json, [&](auto& visit) {
    visit("most_seconds", entry.most_seconds);
    visit("measured", entry.measured);
  }));
  if (!bounds_something(entry.measured)) return Error{Code::kInvalid, "it holds no figures"};
  return entry;
}

StoredLimits nothing(std::string reason, bool damaged = false) { return {std::nullopt, 0, std::move(reason), damaged}; }

// The entry of this setting; else why none of the others applies.
StoredLimits look_up(const Json& entries, const std::string& key, const Setting& now) {
  StoredLimits result = nothing("nothing was measured on it yet");
  for (const Json& json : entries) {
    Result<Entry> entry = entry_from_json(json);
    if (!entry) {
      result = nothing(fmt::format("what is kept of {} is damaged: {}", key, entry.error().message), true);
      continue;
    }
    const std::string different = differences(entry->measured.setting, now);
    if (different.empty()) return {std::move(entry->measured), entry->most_seconds, "", false};
    result = nothing(
        fmt::format("what was measured {} holds for another setting: {}", entry->measured.measured_at, different));
  }
  return result;
}

std::string file_or_default(const std::string& file) { return file.empty() ? default_cache_file() : file; }

// Newest last; replaces the entry of the same setting and unreadable ones.
void put(Json& store, const std::string& key, const DeviceMeasurement& measured, double most_seconds) {
  Json kept = Json::array();
  if (store.contains(kGpus) && store[kGpus].contains(key))
    for (const Json& json : store[kGpus][key])
      if (Result<Entry> entry = entry_from_json(json);
          entry && !differences(entry->measured.setting, measured.setting).empty())
        kept.push_back(json);
  while (kept.size() >= kMostSettings) kept.erase(kept.begin());
  kept.push_back({{"most_seconds", most_seconds}, {"measured", to_json(measured)}});
  store[kGpus][key] = std::move(kept);
}

// Records where it is stored, or why not.
std::string keep(const DeviceMeasurement& measured, const std::string& key, const std::string& file,
                 const Options& options) {
  if (options.rounds.interrupted && options.rounds.interrupted()) return "not kept: interrupted";
  if (machine::disturbed(measured.disturbance) && !options.keep_disturbed) {
    log::warning("{}: the limits of {} measured meanwhile are not kept; --keep-disturbed keeps them",
                 machine::sentence(*measured.disturbance), measured.facts.name);
    return "not kept: the machine was busy; --keep-disturbed keeps them";
  }
  if (!bounds_something(measured)) return "not kept: no peak, or no bandwidth, could be measured";
  if (file.empty()) return "not kept: neither XDG_CACHE_HOME nor HOME is set; name a file by --cache";
  FileLock lock(lock_of(file));
  const Status written =
      change_limits_file(file, [&](Json& store) { put(store, key, measured, options.rounds.most_seconds); });
  if (written) return "kept in " + file;
  log::warning("the measured limits are not kept: {}", written.error().message);
  return "not kept: " + written.error().message;
}

// The stored limits, if they apply.
std::optional<DeviceMeasurement> known(const gpu::DeviceFacts& facts, const Setting& now, const Options& options,
                                       const std::string& file) {
  StoredLimits kept = recall(facts, now, file);
  if (kept.damaged) log::warning("{}; measuring again", kept.reason);
  if (!kept.measured || kept.most_seconds < options.rounds.most_seconds) return std::nullopt;
  kept.measured->kept = "kept in " + file;
  return std::move(kept.measured);
}

}  // namespace

StoredLimits recall(const gpu::DeviceFacts& facts, const Setting& now, const std::string& file) {
  const std::string from = file_or_default(file);
  if (from.empty()) return nothing("nothing is kept, as neither XDG_CACHE_HOME nor HOME is set");
  const Result<Json> store = read_limits_file(from);
  if (!store) return nothing(store.error().message, true);
  const std::string key = key_of(facts, now);
  if (!store->contains(kGpus) || !(*store)[kGpus].contains(key)) return nothing("nothing was measured on it yet");
  StoredLimits found = look_up((*store)[kGpus][key], key, now);
  if (found.measured) {
    found.measured->facts = facts;
    found.measured->recalled = true;
  }
  return found;
}

Result<DeviceMeasurement> recall_or_measure(const gpu::DeviceFacts& facts, const Setting& now, const Options& options,
                                            bool fresh, const MeasureDevice& measure) {
  const std::string file = file_or_default(options.machine_cache);
  std::optional<FileLock> lock;
  std::optional<DeviceMeasurement> kept;
  auto recall_kept = [&] { return !fresh && (kept = known(facts, now, options, file)).has_value(); };
  if (recalled_or_locked(file, file + ".gpus.lock", lock, recall_kept)) return std::move(*kept);
  RIDGE_ASSIGN(DeviceMeasurement measured, measure());
  measured.setting = now;
  measured.kept = keep(measured, key_of(facts, now), file, options);
  return measured;
}

Result<DeviceMeasurement> recall_or_measure(const gpu::Device& device, const Options& options, bool fresh) {
  const Setting now = setting_now(device.facts);
  return recall_or_measure(device.facts, now, options, fresh, [&] { return measure(device, options); });
}

}  // namespace ridge::limits::accelerator
