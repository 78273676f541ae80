#include "limits/limits_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/cache_folder.h"
#include "base/file.h"

namespace ridge::limits {
namespace {

constexpr int64_t kFileVersion = 1;

Json empty_limits_file() { return {{"version", kFileVersion}, {"machines", Json::object()}}; }

}  // namespace

std::string default_cache_file() { return cache_folder("machine.json"); }

FileLock::FileLock(const std::string& lock_file) {
  std::error_code failure;
  std::filesystem::create_directories(std::filesystem::path(lock_file).parent_path(), failure);
  file_ = Descriptor(open(lock_file.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666));
  while (file_ && flock(file_.number(), LOCK_EX) != 0 && errno == EINTR) continue;
}

bool recalled_or_locked(const std::string& file, const std::string& lock_file, std::optional<FileLock>& lock,
                        const std::function<bool()>& recall) {
  if (file.empty()) return false;
  const FileStamp seen = stamp_of(file);
  if (recall()) return true;
  lock.emplace(lock_file);
  return stamp_of(file) != seen && recall();
}

std::string lock_of(const std::string& file) { return file + ".lock"; }

Result<Json> read_limits_file(const std::string& file) {
  Result<std::string> text = read_file(file);
  if (!text && text.error().code == Code::kNotFound) return empty_limits_file();
  if (!text) return std::move(text).error();
  RIDGE_ASSIGN(Json store, parse_json(*text, "machine cache " + file));
  Result<int64_t> version = json_member<int64_t>(store, "version");
  if (!version || *version != kFileVersion || !store.contains("machines") || !store["machines"].is_object())
    return Error{Code::kInvalid, "machine cache " + file + " is not of version " + std::to_string(kFileVersion)};
  if (store.contains("cards") && !store["cards"].is_object())
    return Error{Code::kInvalid, "machine cache " + file + ": its member cards is not an object"};
  return store;
}

Status change_limits_file(const std::string& file, const std::function<void(Json&)>& change) {
  Result<Json> read = read_limits_file(file);
  Json store = read ? std::move(*read) : empty_limits_file();
  change(store);
  return write_file_atomically(file, dump_json(store, true) + "\n");
}

}  // namespace ridge::limits
