#include "gpu/open_library.h"

#include <cassert>
#include <cstdlib>
#include <optional>

#include "base/log.h"
#include "gpu/python_packages.h"

namespace ridge::gpu {
namespace {

// kNotFound if no package has one that opens.
Result<DynamicLibrary> open_packaged(const std::string& name, const std::vector<std::string>& prefixes,
                                     const std::vector<std::string>& packages) {
  for (const std::string& prefix : prefixes)
    for (const std::string& package : packages)
      for (const std::string& file : package_libraries(prefix, package, name))
        if (Result<DynamicLibrary> opened = DynamicLibrary::open(file)) return opened;
  return Error{Code::kNotFound, "no package has " + name};
}

}  // namespace

Result<DynamicLibrary> open_library(const std::string& given, const char* variable,
                                    const std::vector<std::string>& names, const std::vector<std::string>& packages) {
  assert(!names.empty());
  if (!given.empty()) return DynamicLibrary::open(given);
  if (const char* wanted = std::getenv(variable); wanted != nullptr && *wanted != '\0')
    return DynamicLibrary::open(wanted);
  std::optional<std::vector<std::string>> prefixes;  // known once the loader has not found a name
  std::optional<Error> first_error;
  for (const std::string& name : names) {
    Result<DynamicLibrary> opened = DynamicLibrary::open(name);
    if (!opened && !first_error) first_error = opened.error();
    if (!opened && !packages.empty()) {
      if (!prefixes) prefixes = python_prefixes(python_surroundings());
      opened = open_packaged(name, *prefixes, packages);
    }
    if (!opened) continue;
    if (name != names.front()) log::warning("{} is used, as there is no {}", opened->path(), names.front());
    return opened;
  }
  return *first_error;
}

void open_beside(const DynamicLibrary& library, const std::string& name) {
  for (const std::string& file : libraries_in(library.folder(), name))
    if (Result<DynamicLibrary> opened = DynamicLibrary::open(file)) opened->leak();
}

}  // namespace ridge::gpu
