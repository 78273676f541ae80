// The file in which measured limits are kept between runs: a JSON object with one entry per machine id (limits_store.h) and one
// list per GPU (accelerator/store.h), so that a home folder shared by several machines works.
//   {"version": 1, "machines": {"<id>": {…}}, "cards": {"<card>": […]}}
// Private to limits/. Thread-safe; safe against other processes that change the file.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/json.h"
#include "base/result.h"

namespace ridge::limits {

// $XDG_CACHE_HOME/ridge/machine.json, ~/.cache/ridge/machine.json, or "" where neither is set.
std::string default_cache_file();

// Held exclusively until destroyed, by one process or thread at a time. Where it cannot be had (read-only folder), there is
// none, and its owner goes on without.
class FileLock {
 public:
  explicit FileLock(const std::string& lock_file);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  bool waited() const { return waited_; }  // another process held it before

 private:
  int descriptor_ = -1;
  bool waited_ = false;
};
// Whether `recall` finds what is wanted in the file, at once or after another who measured meanwhile. If not, `lock` is held, and it
// is for the caller to measure. Without a file: false, and nothing is held.
bool recalled_or_locked(const std::string& file, const std::string& lock_file, std::optional<FileLock>& lock,
                        const std::function<bool()>& recall);
// The lock of the file's content. Who measures the CPU holds it meanwhile.
std::string lock_of(const std::string& file);

// The content; an empty one if there is no file; an error if it is not such a file.
Result<Json> read_limits_file(const std::string& file);

// Reads the file, lets `change` have its content and writes it; one that was damaged is begun again. Call it under lock_of(file).
Status change_limits_file(const std::string& file, const std::function<void(Json&)>& change);

}  // namespace ridge::limits
