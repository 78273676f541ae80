// Reloaded<T>: a value made of files, and made again when one of them has changed: certificates, keys.
//
// Unusable files leave the value as it is, with one warning. Readers hold snapshots. Thread-safe, but look().
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/result.h"

namespace ridge::front {

std::vector<FileStamp> stamps_of(const std::vector<std::string>& files);

// A warning if users other than the owner and the group may read it: `what` is "the key (--tls-key)".
void warn_of_readers(const std::string& what, const std::string& file);

template <typename T>
class Reloaded {
 public:
  using Read = std::function<Result<T>()>;

  // `what`, for the log: "the keys of FILE".
  static Result<std::shared_ptr<Reloaded>> open(std::string what, std::vector<std::string> files, Read read) {
    std::vector<FileStamp> stamps = stamps_of(files);
    RIDGE_ASSIGN(T first, read());
    return std::shared_ptr<Reloaded>(
        new Reloaded(std::move(what), std::move(files), std::move(stamps), std::move(read), std::move(first)));
  }

  std::shared_ptr<const T> current() const {
    MutexLock lock(mutex_);
    return current_;
  }

  // Reads the files if they have changed since the last look. Files that belong together may be seen halfway: they get
  // a second look before they are called unusable.
  void look() {
    std::vector<FileStamp> stamps = stamps_of(files_);
    if (stamps != stamps_) looks_left_ = kLooks;
    stamps_ = std::move(stamps);
    if (looks_left_ == 0) return;
    --looks_left_;
    Result<T> read = read_();
    if (!read) {
      if (looks_left_ == 0)
        log::warning("{} changed; what was read before stays in use: {}", what_, read.error().message);
      return;
    }
    looks_left_ = 0;
    auto next = std::make_shared<const T>(*std::move(read));
    {
      MutexLock lock(mutex_);
      current_.swap(next);
    }
    log::info("{} changed and were read again", what_);
  }

 private:
  static constexpr int kLooks = 2;

  Reloaded(std::string what, std::vector<std::string> files, std::vector<FileStamp> stamps, Read read, T first)
      : what_(std::move(what)),
        files_(std::move(files)),
        read_(std::move(read)),
        stamps_(std::move(stamps)),
        current_(std::make_shared<const T>(std::move(first))) {}

  const std::string what_;
  const std::vector<std::string> files_;
  const Read read_;
  std::vector<FileStamp> stamps_;
  int looks_left_ = 0;
  mutable Mutex mutex_;
  std::shared_ptr<const T> current_ RIDGE_GUARDED_BY(mutex_);
};

}  // namespace ridge::front
