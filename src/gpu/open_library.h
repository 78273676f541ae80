// Finds a vendor's library.
#pragma once

#include <string>
#include <vector>

#include "base/dynlib.h"

namespace ridge::gpu {

// `given`: a path; empty: the file named by the environment variable, else the first of `names`, the newest first, that
// opens: each by the loader's search, then from the folders `packages` of python's packages ("nvidia/cu13/lib"). A name
// that is not the first gets a warning. The error is that of the first name (kNotFound).
Result<DynamicLibrary> open_library(const std::string& given, const char* variable,
                                    const std::vector<std::string>& names,
                                    const std::vector<std::string>& packages = {});

// Opens for good the libraries `name` that lie beside `library`, which opens them by their bare names later and has no
// run path to find them by.
void open_beside(const DynamicLibrary& library, const std::string& name);

}  // namespace ridge::gpu
