// The kernels of the experiments as text: written once, in the words that src/gpu/dialect.cu gives both to CUDA and to
// OpenCL; embedded at build.
#pragma once

#include <string>
#include <string_view>

namespace ridge::lab {

// The text of src/lab/kernels/<name>.cu; empty when there is none.
std::string_view kernel_text(std::string_view name);

// Dialect and kernels together: what a compiler gets. `names`: one text, or several in their order, with blanks between them.
std::string kernel_source(std::string_view names);

}  // namespace ridge::lab
