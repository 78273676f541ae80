#include "gpu/open_library.h"

#include <cassert>
#include <cstdlib>

namespace ridge::gpu {

Result<DynamicLibrary> open_library(const std::string& given, const char* variable,
                                    const std::vector<std::string>& names) {
  assert(!names.empty());
  if (!given.empty()) return DynamicLibrary::open(given);
  if (const char* wanted = std::getenv(variable); wanted != nullptr && *wanted != '\0')
    return DynamicLibrary::open(wanted);
  Result<DynamicLibrary> first = DynamicLibrary::open(names.front());
  for (size_t i = 1; !first && i < names.size(); ++i)
    if (Result<DynamicLibrary> next = DynamicLibrary::open(names[i])) return next;
  return first;
}

}  // namespace ridge::gpu
