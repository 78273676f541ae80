// The source of the experiments' kernels: written once, in the common subset that src/gpu/dialect.cu defines for CUDA
// and OpenCL; embedded at build time.
#pragma once

#include <string>
#include <string_view>

namespace ridge::lab {

// The source of src/lab/kernels/<name>.cu; empty if there is none.
std::string_view kernel_text(std::string_view name);

// Dialect and kernels: the compiler's input. `names`: one text, or several in order, separated by blanks.
std::string kernel_source(std::string_view names);

}  // namespace ridge::lab
