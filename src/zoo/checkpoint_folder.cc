#include "zoo/checkpoint_folder.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json.h"
#include "base/replacement_file.h"

namespace ridge::zoo {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kOurFiles[] = {"config.json", "generation_config.json", "model.safetensors",
                                          "tokenizer.json", "tokenizer_config.json"};

bool made_here(const fs::path& folder) {
  const Result<Json> config = parse_json(text_or_empty((folder / "config.json").string()), "config.json");
  return config && config->is_object() && config->contains(kMadeBy);
}

// A file that was added to a folder; empty: there is none.
std::string added_file(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (std::find(std::begin(kOurFiles), std::end(kOurFiles), name) == std::end(kOurFiles)) return name;
  }
  return {};
}

Status check_replaceable(const fs::path& target) {
  std::error_code error;
  const fs::file_status status = fs::symlink_status(target, error);
  if (!fs::exists(status)) return {};
  if (!fs::is_directory(status))
    return invalid("write " + target.string() +
                   ": it exists and is not a folder; a language model is a folder of files");
  if (fs::is_empty(target, error)) return {};
  const std::string added = made_here(target) ? added_file(target) : "";
  if (made_here(target) && added.empty()) return {};
  return invalid("write " + target.string() + ": the folder exists and " +
                 (added.empty() ? "was not made by ridge make" : "has a file that ridge make did not write, " + added) +
                 "; give another one, or remove it first");
}

}  // namespace

Result<CheckpointFolder> CheckpointFolder::open(const std::string& given) {
  std::string target = given;
  while (target.size() > 1 && target.back() == '/') target.pop_back();
  RIDGE_TRY(check_replaceable(target));
  std::string unfinished = temporary_name(target + ".tmp");
  std::error_code failure;
  fs::create_directories(unfinished, failure);
  if (failure) return Error{Code::kFailed, "create folder " + unfinished + ": " + failure.message()};
  return CheckpointFolder(std::move(target), std::move(unfinished));
}

CheckpointFolder::~CheckpointFolder() {
  std::error_code ignored;
  if (!unfinished_.empty()) fs::remove_all(unfinished_, ignored);
}

Status CheckpointFolder::write(std::string_view file, std::string_view content) {
  RIDGE_ASSIGN(ReplacementFile out, ReplacementFile::open(path(file)));
  RIDGE_TRY(out.append(content));
  return out.commit();
}

Status CheckpointFolder::commit() {
  RIDGE_TRY(check_replaceable(target_));  // again: writing took a while
  std::error_code failure;
  fs::remove_all(target_, failure);
  if (!failure) fs::rename(unfinished_, target_, failure);
  if (failure) return Error{Code::kFailed, "replace folder " + target_ + ": " + failure.message()};
  unfinished_.clear();
  return {};
}

}  // namespace ridge::zoo
