#include <nlohmann/json.hpp>

#include "gpu/gpu.h"

namespace ridge::gpu {
namespace {

// A value as it is; a missing one as {"reason": "…"}.
template <typename T>
Json reading_json(const Reading<T>& reading) {
  if (reading) return Json(*reading);
  return Json{{"reason", reading.reason}};
}

template <typename T>
Result<Reading<T>> reading_from_json(const Json& object, const char* key) {
  auto found = object.find(key);
  if (found == object.end()) return Reading<T>(Error{Code::kNotFound, "not recorded"});
  if (found->is_object()) {
    RIDGE_ASSIGN(std::string reason, json_member_or<std::string>(*found, "reason", "unknown reason"));
    return Reading<T>(Error{Code::kNotFound, std::move(reason)});
  }
  RIDGE_ASSIGN(T value, json_member<T>(object, key));
  return Reading<T>(std::move(value));
}

Result<std::vector<GpuProcess>> processes_from_json(const Json& json) {
  std::vector<GpuProcess> processes;
  auto list = json.find("processes");
  if (list == json.end() || !list->is_array()) return processes;
  for (const Json& entry : *list) {
    GpuProcess process;
    RIDGE_ASSIGN(process.pid, json_member<int64_t>(entry, "pid"));
    RIDGE_ASSIGN(process.memory_bytes, json_member_or<int64_t>(entry, "memory_bytes", -1));
    processes.push_back(process);
  }
  return processes;
}

Json links_json(const std::vector<PeerLink>& links) {
  Json list = Json::array();
  for (const PeerLink& link : links)
    list.push_back({{"index", link.index},
                    {"up", link.up},
                    {"remote", reading_json(link.remote)},
                    {"replays", reading_json(link.replays)},
                    {"recoveries", reading_json(link.recoveries)},
                    {"crc_errors", reading_json(link.crc_errors)}});
  return list;
}

Result<std::vector<PeerLink>> links_from_json(const Json& json) {
  std::vector<PeerLink> links;
  auto list = json.find("links");
  if (list == json.end() || !list->is_array()) return links;
  for (const Json& entry : *list) {
    PeerLink link;
    RIDGE_ASSIGN(int64_t index, json_member<int64_t>(entry, "index"));
    link.index = static_cast<int>(index);
    RIDGE_ASSIGN(link.up, json_member<bool>(entry, "up"));
    RIDGE_ASSIGN(link.remote, reading_from_json<std::string>(entry, "remote"));
    RIDGE_ASSIGN(link.replays, reading_from_json<int64_t>(entry, "replays"));
    RIDGE_ASSIGN(link.recoveries, reading_from_json<int64_t>(entry, "recoveries"));
    RIDGE_ASSIGN(link.crc_errors, reading_from_json<int64_t>(entry, "crc_errors"));
    links.push_back(std::move(link));
  }
  return links;
}

Json slices_json(const std::vector<GpuSlice>& slices) {
  Json list = Json::array();
  for (const GpuSlice& slice : slices) {
    Json entry = {{"index", slice.index}};
    visit_slice(slice, [&](const char* name, const auto& reading) { entry[name] = reading_json(reading); });
    list.push_back(std::move(entry));
  }
  return list;
}

// Fills a reading from the member `name`; the first failure stays in `status`.
template <typename T>
void read_member(const Json& json, const char* name, Reading<T>& reading, Status& status) {
  Result<Reading<T>> read = reading_from_json<T>(json, name);
  if (read)
    reading = *read;
  else if (status)
    status = read.error();
}

Result<std::vector<GpuSlice>> slices_from_json(const Json& json) {
  std::vector<GpuSlice> slices;
  auto list = json.find("slices");
  if (list == json.end() || !list->is_array()) return slices;
  for (const Json& entry : *list) {
    GpuSlice slice;
    RIDGE_ASSIGN(int64_t index, json_member<int64_t>(entry, "index"));
    slice.index = static_cast<int>(index);
    Status status;
    visit_slice(slice, [&](const char* name, auto& reading) { read_member(entry, name, reading, status); });
    RIDGE_TRY(status);
    slices.push_back(std::move(slice));
  }
  return slices;
}

Result<std::vector<GpuPair>> pairs_from_json(const Json& json) {
  std::vector<GpuPair> pairs;
  auto list = json.find("pairs");
  if (list == json.end() || !list->is_array()) return pairs;
  for (const Json& entry : *list) {
    GpuPair pair;
    RIDGE_ASSIGN(int64_t first, json_member<int64_t>(entry, "first"));
    RIDGE_ASSIGN(int64_t second, json_member<int64_t>(entry, "second"));
    pair.first = static_cast<int>(first);
    pair.second = static_cast<int>(second);
    RIDGE_ASSIGN(pair.level, reading_from_json<std::string>(entry, "level"));
    pairs.push_back(std::move(pair));
  }
  return pairs;
}

}  // namespace

Json to_json(const Gpu& gpu) {
  Json json = {{"index", gpu.index}};
  if (!gpu.failure.empty()) json["failure"] = gpu.failure;
  visit_readings(gpu, [&](const char* name, const auto& reading) { json[name] = reading_json(reading); });
  if (!gpu.links.empty()) json["links"] = links_json(gpu.links);
  if (!gpu.slices.empty()) json["slices"] = slices_json(gpu.slices);
  json["processes"] = Json::array();
  for (const GpuProcess& process : gpu.processes)
    json["processes"].push_back({{"pid", process.pid}, {"memory_bytes", process.memory_bytes}});
  return json;
}

Result<Gpu> gpu_from_json(const Json& json) {
  Gpu gpu;
  RIDGE_ASSIGN(int64_t index, json_member<int64_t>(json, "index"));
  gpu.index = static_cast<int>(index);
  RIDGE_ASSIGN(gpu.failure, json_member_or<std::string>(json, "failure", ""));
  Status status;
  visit_readings(gpu, [&](const char* name, auto& reading) { read_member(json, name, reading, status); });
  RIDGE_TRY(status);
  RIDGE_ASSIGN(gpu.links, links_from_json(json));
  RIDGE_ASSIGN(gpu.slices, slices_from_json(json));
  RIDGE_ASSIGN(gpu.processes, processes_from_json(json));
  return gpu;
}

Json to_json(const GpuSystem& system) {
  Json json = {{"library", system.library},
               {"driver_version", reading_json(system.driver_version)},
               {"cuda_version", reading_json(system.cuda_version)},
               {"cards", Json::array()}};
  for (const Gpu& gpu : system.gpus) json["cards"].push_back(to_json(gpu));
  for (const GpuPair& pair : system.pairs)
    json["pairs"].push_back({{"first", pair.first}, {"second", pair.second}, {"level", reading_json(pair.level)}});
  return json;
}

Result<GpuSystem> gpu_system_from_json(const Json& json) {
  GpuSystem system;
  RIDGE_ASSIGN(system.library, json_member_or<std::string>(json, "library", ""));
  RIDGE_ASSIGN(system.driver_version, reading_from_json<std::string>(json, "driver_version"));
  RIDGE_ASSIGN(system.cuda_version, reading_from_json<std::string>(json, "cuda_version"));
  auto gpus = json.find("cards");
  if (gpus == json.end() || !gpus->is_array()) return system;
  for (const Json& entry : *gpus) {
    RIDGE_ASSIGN(Gpu gpu, gpu_from_json(entry));
    system.gpus.push_back(std::move(gpu));
  }
  RIDGE_ASSIGN(system.pairs, pairs_from_json(json));
  return system;
}

}  // namespace ridge::gpu
