// A shared library opened at run time. Absence is a value with the loader's own reason, never a crash.
#pragma once

#include <string>

#include "base/result.h"

namespace ridge {

// Owns one dlopen handle; move-only. Symbols are valid while the owner lives.
class DynamicLibrary {
 public:
  // `path` as dlopen takes it: a file, or a bare name for the loader's search. RTLD_NOW | RTLD_LOCAL.
  static Result<DynamicLibrary> open(const std::string& path);

  DynamicLibrary(DynamicLibrary&& other) noexcept;
  DynamicLibrary& operator=(DynamicLibrary&& other) noexcept;
  DynamicLibrary(const DynamicLibrary&) = delete;
  DynamicLibrary& operator=(const DynamicLibrary&) = delete;
  ~DynamicLibrary();

  // The function of that name as pointer to F, e.g. symbol<const OrtApiBase*()>("OrtGetApiBase").
  template <typename F>
  Result<F*> symbol(const char* name) const {
    Result<void*> found = find(name);
    if (!found) return found.error();
    return reinterpret_cast<F*>(*found);
  }
  const std::string& path() const { return path_; }
  std::string folder() const;  // that it was loaded from, also by a bare name; before leak()
  // Keeps the library mapped until the process ends: for libraries whose threads outlive their handle.
  void leak() { handle_ = nullptr; }

 private:
  DynamicLibrary(void* handle, std::string path) : handle_(handle), path_(std::move(path)) {}
  Result<void*> find(const char* name) const;

  void* handle_;
  std::string path_;
};

}  // namespace ridge
