// Functions of a library opened at run time, each beside its name, in one table per library:
//
//   struct Library : FunctionTable {
//     using FunctionTable::FunctionTable;
//     RIDGE_NEEDS(nvmlDeviceGetCount_v2, int(unsigned*))
//     RIDGE_MAY_HAVE(nvmlSystemGetCudaDriverVersion_v2, int(int*))
//   };
//
// A table is not moved. Immutable once built.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/dynlib.h"
#include "gpu/open_library.h"

namespace ridge::gpu {

template <typename Signature>
class LibraryFunction {
 public:
  using Type = Signature;
  // An optional function: nullptr if the library lacks it.
  LibraryFunction(const DynamicLibrary& library, const char* name) : name_(name) {
    if (Result<Signature*> found = library.symbol<Signature>(name)) pointer_ = *found;
  }
  // A required function: `complete` becomes the error of the first missing one.
  LibraryFunction(const DynamicLibrary& library, const char* name, Status& complete) : name_(name) {
    Result<Signature*> found = library.symbol<Signature>(name);
    if (found)
      pointer_ = *found;
    else if (complete)
      complete = found.error();
  }

  const char* name() const { return name_; }
  operator Signature*() const {
    return pointer_;
  }  // NOLINT: called and compared with nullptr as the pointer that it is

 private:
  const char* name_;
  Signature* pointer_ = nullptr;
};

// The base of every table: the library that provides the functions.
struct FunctionTable {
  explicit FunctionTable(DynamicLibrary opened) : file(std::move(opened)) {}
  DynamicLibrary file;
  Status complete;  // the first missing required function

  template <typename Signature>
  using Function = LibraryFunction<Signature>;
};

// Rows of a table: a required function, and an optional one.
#define RIDGE_NEEDS(name, ...) Function<__VA_ARGS__> name{file, #name, complete};
#define RIDGE_MAY_HAVE(name, ...) Function<__VA_ARGS__> name{file, #name};

// Opens a library (open_library) and looks up the functions of its table. `product`: named as too old for ridge if a
// required function is missing (kUnsupported).
template <typename Table>
Result<std::unique_ptr<Table>> open_table(const std::string& given, const char* variable,
                                          const std::vector<std::string>& names, const char* product,
                                          const std::vector<std::string>& packages = {}) {
  Result<DynamicLibrary> file = open_library(given, variable, names, packages);
  if (!file) return file.error();
  auto table = std::make_unique<Table>(std::move(*file));
  if (!table->complete)
    return Error{Code::kUnsupported, table->complete.error().message + "; " + product + " is too old for ridge"};
  return table;
}

}  // namespace ridge::gpu
