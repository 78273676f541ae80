// Finds a vendor's library.
#pragma once

#include <string>
#include <vector>

#include "base/dynlib.h"

namespace ridge::gpu {

// `given`: a path; empty: the file named by the environment variable, else the first of `names` that the loader's search opens,
// else the first that opens in one of the folders `packages` of python's packages ("nvidia/cu13/lib"). The error is that of the
// first name tried (kNotFound).
Result<DynamicLibrary> open_library(const std::string& given, const char* variable,
                                    const std::vector<std::string>& names,
                                    const std::vector<std::string>& packages = {});

}  // namespace ridge::gpu
