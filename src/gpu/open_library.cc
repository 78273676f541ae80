#include "gpu/open_library.h"

#include <cassert>
#include <cstdlib>

#include "gpu/python_packages.h"

namespace ridge::gpu {
namespace {

// `otherwise` if no package has one that opens.
Result<DynamicLibrary> open_packaged(const std::vector<std::string>& names, const std::vector<std::string>& packages,
                                     Result<DynamicLibrary> otherwise) {
  const std::vector<std::string> prefixes = python_prefixes(python_surroundings());
  for (const std::string& name : names)
    for (const std::string& prefix : prefixes)
      for (const std::string& package : packages)
        for (const std::string& file : package_libraries(prefix, package, name))
          if (Result<DynamicLibrary> opened = DynamicLibrary::open(file)) return opened;
  return otherwise;
}

}  // namespace

Result<DynamicLibrary> open_library(const std::string& given, const char* variable,
                                    const std::vector<std::string>& names, const std::vector<std::string>& packages) {
  assert(!names.empty());
  if (!given.empty()) return DynamicLibrary::open(given);
  if (const char* wanted = std::getenv(variable); wanted != nullptr && *wanted != '\0')
    return DynamicLibrary::open(wanted);
  Result<DynamicLibrary> first = DynamicLibrary::open(names.front());
  for (size_t i = 1; !first && i < names.size(); ++i)
    if (Result<DynamicLibrary> next = DynamicLibrary::open(names[i])) return next;
  return first || packages.empty() ? std::move(first) : open_packaged(names, packages, std::move(first));
}

}  // namespace ridge::gpu
