// Finds a maker's management library.
#pragma once

#include <string>
#include <vector>

#include "base/dynlib.h"

namespace ridge::gpu {

// `given`: a path; empty: the file that the environment variable names, else the first of `names` that opens. The
// error is that of the first name tried (kNotFound).
Result<DynamicLibrary> open_library(const std::string& given, const char* variable,
                                    const std::vector<std::string>& names);

}  // namespace ridge::gpu
