#include "base/dynlib.h"

#include <dlfcn.h>
#include <limits.h>

#include "base/file.h"
#include "base/mutex.h"

namespace ridge {
namespace {

// A thread that opens a library second relies on the constructors run by the first. The loader ensures that, with a
// lock unknown to the thread sanitizer.
Mutex& opening() {
  static auto& mutex = *new Mutex;
  return mutex;
}

}  // namespace

Result<DynamicLibrary> DynamicLibrary::open(const std::string& path) {
  const bool searched = path.find('/') == std::string::npos;  // in the system's folders
  if (!searched)
    if (const Result<Descriptor> file = open_regular_file(path); !file && file.error().code == Code::kInvalid)
      return Error{Code::kNotFound, "open library " + path + ": it is not a regular file"};
  MutexLock lock(opening());
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* reason = dlerror();
    return Error{Code::kNotFound, "open library " + path + ": " + (reason ? reason : "unknown reason")};
  }
  return DynamicLibrary(handle, path);
}

DynamicLibrary::DynamicLibrary(DynamicLibrary&& other) noexcept
    : handle_(std::exchange(other.handle_, nullptr)), path_(std::move(other.path_)) {}

DynamicLibrary& DynamicLibrary::operator=(DynamicLibrary&& other) noexcept {
  std::swap(handle_, other.handle_);
  std::swap(path_, other.path_);
  return *this;
}

DynamicLibrary::~DynamicLibrary() {
  if (handle_ != nullptr) dlclose(handle_);
}

std::string DynamicLibrary::folder() const {
  char folder[PATH_MAX] = "";
  return handle_ != nullptr && dlinfo(handle_, RTLD_DI_ORIGIN, folder) == 0 ? folder : "";
}

Result<void*> DynamicLibrary::find(const char* name) const {
  assert(handle_ != nullptr);
  void* found = dlsym(handle_, name);
  if (found == nullptr) return Error{Code::kNotFound, "library " + path_ + " has no symbol " + name};
  return found;
}

}  // namespace ridge
