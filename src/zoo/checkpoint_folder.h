// A folder written beside its target, which it replaces only when complete, as ReplacementFile does it for a file.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace ridge::zoo {

// The member of config.json by which a folder of ours is known.
inline constexpr const char* kMadeBy = "ridge_make";

// Owns the unfinished folder and removes it unless it was committed. One thread.
class CheckpointFolder {
 public:
  // kInvalid: what is at `target` is neither an empty folder nor one that commit() made.
  static Result<CheckpointFolder> open(const std::string& target);

  CheckpointFolder(CheckpointFolder&& other) noexcept
      : target_(std::move(other.target_)), unfinished_(std::exchange(other.unfinished_, {})) {}
  CheckpointFolder& operator=(CheckpointFolder&&) = delete;
  CheckpointFolder(const CheckpointFolder&) = delete;
  CheckpointFolder& operator=(const CheckpointFolder&) = delete;
  ~CheckpointFolder();

  std::string path(std::string_view file) const { return unfinished_ + "/" + std::string(file); }
  Status write(std::string_view file, std::string_view content);
  Status commit();

 private:
  CheckpointFolder(std::string target, std::string unfinished)
      : target_(std::move(target)), unfinished_(std::move(unfinished)) {}

  std::string target_;
  std::string unfinished_;  // empty once committed or moved from
};

}  // namespace ridge::zoo
