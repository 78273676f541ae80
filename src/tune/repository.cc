#include "tune/repository.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdio.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/file.h"
#include "base/read_number.h"
#include "base/replacement_file.h"

namespace ridge::tune {
namespace {

namespace fs = std::filesystem;

Error failed(const std::string& doing, const std::string& why) { return {Code::kFailed, doing + ": " + why}; }

// A hidden folder that its owner removes unless it was moved into place.
class Staging {
 public:
  explicit Staging(fs::path path) : path_(std::move(path)) {}
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  ~Staging() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

Status copy_whole(const fs::path& from, const fs::path& to) {
  std::error_code failure;
  fs::create_directories(to.parent_path(), failure);
  fs::copy_file(from, to, fs::copy_options::overwrite_existing, failure);
  if (failure) return failed("copy " + from.string() + " to " + to.string(), failure.message());
  return {};
}

Status link_or_copy(const fs::path& from, const fs::path& to) {
  std::error_code failure;
  fs::create_directories(to.parent_path(), failure);
  fs::path file = fs::canonical(from, failure);  // a link to a symbolic link would hold the link, not the model
  if (!failure) fs::create_hard_link(file, to, failure);
  return failure ? copy_whole(from, to) : Status{};
}

int64_t version_of(const fs::path& path) {
  std::string name = path.filename().string();
  int64_t version = 0;
  return read_number(name, version) && version > 0 ? version : 0;
}

int64_t highest_version(const fs::path& entry) {
  int64_t highest = 0;
  std::error_code ignored;
  for (fs::directory_iterator at(entry, ignored), end; !ignored && at != end; at.increment(ignored))
    highest = std::max(highest, version_of(at->path()));
  return highest;
}

// The whole old entry, as hard links if possible; config.pbtxt, tuning.json, ovms.json are written afterwards.
Status keep_old(const fs::path& old_entry, const fs::path& new_entry) {
  std::error_code failure;
  for (fs::recursive_directory_iterator at(old_entry, failure), end; !failure && at != end; at.increment(failure)) {
    fs::path relative = fs::relative(at->path(), old_entry);
    if (at->is_directory())
      fs::create_directories(new_entry / relative, failure);
    else if (relative != "config.pbtxt" && relative != "tuning.json" && relative != "ovms.json")
      RIDGE_TRY(link_or_copy(at->path(), new_entry / relative));
  }
  return failure ? Status{failed("keep the earlier versions in " + old_entry.string(), failure.message())} : Status{};
}

// Copies a checkpoint's files for `ridge serve` (docs/contracts.md, "Language models").
Status copy_checkpoint(const fs::path& from, const fs::path& folder) {
  constexpr std::array<std::string_view, 3> kServed = {".json", ".safetensors", ".jinja"};
  std::error_code failure;
  for (fs::directory_iterator at(from, failure), end; !failure && at != end; at.increment(failure))
    if (at->is_regular_file() &&
        (std::ranges::count(kServed, at->path().extension().string()) > 0 || at->path().stem() == "openvino_model"))
      RIDGE_TRY(copy_whole(at->path(), folder / at->path().filename()));
  return failure ? Status{failed("copy " + from.string(), failure.message())} : Status{};
}

Status write_version(const RepositoryEntry& entry, const fs::path& folder) {
  if (!entry.checkpoint.empty()) return copy_checkpoint(entry.checkpoint, folder);
  fs::path model_folder = fs::path(entry.model_file).parent_path();
  // Copies, not links: an exporter that rewrites the file in place would change the tuned and served model.
  RIDGE_TRY(copy_whole(entry.model_file, folder / "model.onnx"));
  for (const std::string& file : entry.external_files) RIDGE_TRY(copy_whole(model_folder / file, folder / file));
  return {};
}

Status write_configuration(const RepositoryEntry& entry, const fs::path& folder) {
  RIDGE_TRY(write_file_atomically((folder / "config.pbtxt").string(), entry.config_pbtxt));
  RIDGE_TRY(write_file_atomically((folder / "tuning.json").string(), entry.tuning_json));
  if (!entry.ovms_json.empty()) RIDGE_TRY(write_file_atomically((folder / "ovms.json").string(), entry.ovms_json));
  std::error_code failure;
  if (!entry.warmup_files.empty()) fs::create_directories(folder / "warmup", failure);
  if (failure) return failed("create " + (folder / "warmup").string(), failure.message());
  for (const auto& [name, content] : entry.warmup_files)
    RIDGE_TRY(write_file_atomically((folder / "warmup" / name).string(), content));
  return {};
}

// Moves `staged` to `target`; the old content ends up at `staged`.
Status take_place(const fs::path& staged, const fs::path& target) {
  if (rename(staged.c_str(), target.c_str()) == 0) return {};
  if (errno != EEXIST && errno != ENOTEMPTY) return failed("rename to " + target.string(), std::strerror(errno));
  if (renameat2(AT_FDCWD, staged.c_str(), AT_FDCWD, target.c_str(), RENAME_EXCHANGE) == 0) return {};
  // A file system without exchange: two steps; the entry is briefly absent between them.
  std::string aside = staged.string() + "-old";
  bool moved = rename(target.c_str(), aside.c_str()) == 0 && rename(staged.c_str(), target.c_str()) == 0;
  if (!moved) return failed("replace " + target.string(), std::strerror(errno));
  std::error_code ignored;
  fs::remove_all(aside, ignored);
  return {};
}

bool allowed(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-' || c == '.'; }

}  // namespace

std::string entry_name(const std::string& model_file) {
  std::string name = fs::path(model_file).stem().string();
  std::replace_if(name.begin(), name.end(), [](char c) { return !allowed(c); }, '_');
  while (!name.empty() && name.front() == '.') name.erase(0, 1);
  return name.empty() ? "model" : name;
}

Status check_entry_name(const std::string& name) {
  bool good = !name.empty() && name.front() != '.' && std::all_of(name.begin(), name.end(), allowed);
  if (good) return {};
  return Error{Code::kInvalid, fmt::format("model name '{}': use letters, digits, '_', '-' and '.' (not first)", name)};
}

Status check_repository(const std::string& repository) {
  Status ready = check_writable_folder(repository);
  return ready ? ready : wrap(ready.error(), "write repository " + repository);
}

Result<std::string> save(const RepositoryEntry& entry, const std::string& repository, bool overwrite) {
  RIDGE_TRY(check_entry_name(entry.name));
  std::error_code failure;
  fs::create_directories(repository, failure);
  if (failure) return failed("create repository " + repository, failure.message());
  fs::path target = fs::path(repository) / entry.name;
  Staging staging(temporary_name((fs::path(repository) / ("." + entry.name + ".ridge-")).string()));
  fs::create_directories(staging.path(), failure);
  if (failure) return failed("write into repository " + repository, failure.message());

  bool keep = !overwrite && fs::exists(target);
  if (keep) RIDGE_TRY(keep_old(target, staging.path()));
  std::string version = std::to_string(keep ? highest_version(target) + 1 : 1);
  RIDGE_TRY(write_version(entry, staging.path() / version));
  RIDGE_TRY(write_configuration(entry, staging.path()));
  RIDGE_TRY(take_place(staging.path(), target));
  return (target / version).string();
}

}  // namespace ridge::tune
