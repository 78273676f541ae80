// The file of measured limits: a JSON object with one entry per machine id (limits_store.h) and one list per GPU
// (accelerator/store.h), so that machines can share a home folder.
//   {"version": 1, "machines": {"<id>": {…}}, "cards": {"<card>": […]}}
// Private to limits/. Thread-safe; safe against concurrent processes.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/descriptor.h"
#include "base/json.h"
#include "base/result.h"

namespace ridge::limits {

// $XDG_CACHE_HOME/ridge/machine.json, ~/.cache/ridge/machine.json, or "" where neither is set.
std::string default_cache_file();

// Held exclusively until destroyed, by one process or thread at a time. Without it (read-only folder) the owner
// proceeds unlocked.
class FileLock {
 public:
  explicit FileLock(const std::string& lock_file);

 private:
  Descriptor file_;
};
// True if `recall` finds the value in the file, at once or after another process measured it. If not, `lock` is held,
// and the caller measures. Without a file: false, and nothing is held.
bool recalled_or_locked(const std::string& file, const std::string& lock_file, std::optional<FileLock>& lock,
                        const std::function<bool()>& recall);
// The lock of the file's content. Held while the CPU is measured.
std::string lock_of(const std::string& file);

// The content; empty without a file; an error if the format is wrong.
Result<Json> read_limits_file(const std::string& file);

// Reads the file, applies `change` and writes it; a damaged file is replaced. Call it under lock_of(file).
Status change_limits_file(const std::string& file, const std::function<void(Json&)>& change);

}  // namespace ridge::limits
