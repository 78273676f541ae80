// The dependencies of a shared library (ELF, 64 bit), and those that the loader does not find: the reason for "cannot
// open shared object file", before or after it happened.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace ridge::gpu {

// Names in its DT_NEEDED entries, in their order (System V ABI, "Dynamic Section"): "libcublasLt.so.13", "libc.so.6".
// Reads only the necessary parts. kNotFound: no such file; kInvalid: not a shared library of this kind, or damaged.
Result<std::vector<std::string>> needed_libraries(const std::string& path);

// The `names` that the loader does not find, in their order: opens and closes each by its bare name.
std::vector<std::string> missing_libraries(const std::vector<std::string>& names);

}  // namespace ridge::gpu
