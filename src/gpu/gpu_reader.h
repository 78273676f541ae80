// Queries one GPU through a vendor's management library and keeps the first answer that indicates a broken GPU, not a
// missing feature.
//
// `Library` is the library's table of functions (gpu/library_function.h). It also has:
//   GpuHandle                the library's type of a GPU
//   StatusCode                returned by its functions
//   kOk, kAbsent              success, and ridge's own code for a function that the library lacks
//   broken(status)            whether this status indicates a broken GPU
//   error(function, status)   its meaning, for people
// One thread.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>

#include "gpu/library_function.h"
#include "gpu/reading.h"

namespace ridge::gpu {

template <typename Library>
class GpuReader {
 public:
  using Handle = typename Library::GpuHandle;
  explicit GpuReader(const Library& library, Handle gpu = {}) : library_(library), gpu_(gpu) {}

  // Fills in the targets of the last arguments and returns whether that succeeded; sets `error` otherwise.
  template <typename Signature, typename... Arguments>
  bool ask(Error& error, const LibraryFunction<Signature>& function, Arguments... arguments) {
    return ask_of(error, function, gpu_, arguments...);
  }
  // The same for a part of the GPU with its own handle.
  template <typename Signature, typename... Arguments>
  bool ask_of(Error& error, const LibraryFunction<Signature>& function, Handle part, Arguments... arguments) {
    typename Library::StatusCode status = Library::kAbsent;
    if (function != nullptr) status = function(part, arguments...);
    if (status == Library::kOk) return true;
    error = library_.error(function.name(), status);
    if (Library::broken(status)) fail(error.message);
    return false;
  }
  // Raw: the target type of the function's last argument.
  template <typename Raw, typename Signature, typename... Arguments>
  Reading<int64_t> number(const LibraryFunction<Signature>& function, Arguments... arguments) {
    Raw raw{};
    Error error;
    if (!ask(error, function, arguments..., &raw)) return error;
    return static_cast<int64_t>(raw);
  }
  // For functions that take a buffer and its size.
  template <typename Signature>
  Reading<std::string> text(const LibraryFunction<Signature>& function) {
    constexpr uint32_t kRoom = 256;  // the libraries' longest texts need 96 (NVML) and 256 (AMD)
    char buffer[kRoom] = "";
    Error error;
    if (!ask(error, function, static_cast<char*>(buffer), kRoom)) return error;
    return std::string(buffer, strnlen(buffer, kRoom));
  }

  void fail(const std::string& reason) {
    if (failure_.empty()) failure_ = reason;
  }
  const std::string& failure() const { return failure_; }  // empty: no answer indicates a broken GPU
  Handle gpu() const { return gpu_; }

 private:
  const Library& library_;
  Handle gpu_;
  std::string failure_;
};

}  // namespace ridge::gpu
