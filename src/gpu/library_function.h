// Functions of a library that is opened at run time, each beside its name, in a table of its own per library:
//
//   struct Library : FunctionTable {
//     using FunctionTable::FunctionTable;
//     RIDGE_NEEDS(nvmlDeviceGetCount_v2, int(unsigned*))
//     RIDGE_MAY_HAVE(nvmlSystemGetCudaDriverVersion_v2, int(int*))
//   };
//
// A table stays where it was made. Immutable once made.
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
  // One that the library may lack: it is nullptr then.
  LibraryFunction(const DynamicLibrary& library, const char* name) : name_(name) {
    if (Result<Signature*> found = library.symbol<Signature>(name)) pointer_ = *found;
  }
  // One without which the library is of no use: `complete` becomes the error of the first of them.
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

// What every table begins with: the library, in which the functions after it are looked up.
struct FunctionTable {
  explicit FunctionTable(DynamicLibrary opened) : file(std::move(opened)) {}
  DynamicLibrary file;
  Status complete;  // the first function that must be there and is not

  template <typename Signature>
  using Function = LibraryFunction<Signature>;
};

// Rows of a table: a function that must be there, and one that the library may lack.
#define RIDGE_NEEDS(name, ...) Function<__VA_ARGS__> name{file, #name, complete};
#define RIDGE_MAY_HAVE(name, ...) Function<__VA_ARGS__> name{file, #name};

// Opens a library (open_library) and looks up the functions of its table. `product`: what is too old for ridge if one
// is missing that must be there (kUnsupported).
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
