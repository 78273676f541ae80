// The open libraries of an engine: each file once, under whatever name, until the process ends, because an engine's
// threads and its log outlive any owner. Thread-safe.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "base/mutex.h"
#include "base/result.h"
#include "engine/search.h"

namespace ridge::engine {

template <typename Library>
class LoadedLibraries {
 public:
  // The one table of the process; leaked: sessions may end after static destruction.
  static LoadedLibraries& table() {
    static auto* table = new LoadedLibraries;
    return *table;
  }

  // The first file of search.h's locations that is open or that `open(file)`, a Result<Library>, opens; null if there
  // is none, with the reasons in `tried`.
  template <typename Open>
  const Library* find(const LibraryQuery& sought, const std::string& wanted, const Open& open, std::string& tried) {
    MutexLock lock(mutex_);  // held while a library loads, so that only one thread loads it
    for (const LibraryLocation& place : places(sought, surroundings(sought, wanted))) {
      if (place.files.empty()) tried += "\n  " + place.what + ": " + place.reason;
      for (const std::string& file : place.files) {
        const std::string key = key_of(file);
        if (auto known = by_path_.find(key); known != by_path_.end()) return &known->second;
        Result<Library> opened = open(file);
        if (opened) return &by_path_.emplace(key, std::move(*opened)).first->second;
        tried += "\n  " + place.what + ": " + opened.error().message;
      }
    }
    return nullptr;
  }

 private:
  // The same file under another name is the same library.
  static std::string key_of(const std::string& path) {
    std::error_code error;
    const std::filesystem::path canonical = std::filesystem::canonical(path, error);
    return error ? path : canonical.string();
  }

  Mutex mutex_;
  std::map<std::string, const Library> by_path_ RIDGE_GUARDED_BY(mutex_);  // never removed from
};

}  // namespace ridge::engine
