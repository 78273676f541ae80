#include "predict/calibration_store.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/cache_folder.h"
#include "base/file.h"
#include "base/log.h"

namespace ridge::predict {
namespace {

Result<Efficiency> read(const std::string& path) {
  RIDGE_ASSIGN(std::string text, read_file(path));
  RIDGE_ASSIGN(Json json, parse_json(text, "calibration " + path));
  return efficiency_from_json(json);
}

}  // namespace

std::string default_calibration_folder() { return cache_folder("calibration"); }

std::optional<Efficiency> recall_calibration(const std::string& folder, const std::string& machine_id) {
  std::optional<Efficiency> newest;
  std::error_code failure;
  for (const auto& entry : std::filesystem::directory_iterator(folder, failure)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(machine_id + ".") || !name.ends_with(".json")) continue;
    Result<Efficiency> found = read(entry.path().string());
    if (!found) {
      log::warning("{}; calibrate again", found.error().message);
      continue;
    }
    if (found->machine == machine_id && (!newest || found->measured_at > newest->measured_at))
      newest = std::move(*found);
  }
  return newest;
}

Result<std::string> keep_calibration(const std::string& folder, const Efficiency& efficiency) {
  if (folder.empty())
    return Error{Code::kInvalid, "neither XDG_CACHE_HOME nor HOME is set, so a calibration cannot be stored"};
  const std::string path =
      folder + "/" + efficiency.machine + "." + efficiency.engine + "-" + efficiency.engine_version + ".json";
  RIDGE_TRY(write_file_atomically(path, dump_json(to_json(efficiency)) + "\n"));
  return path;
}

}  // namespace ridge::predict
