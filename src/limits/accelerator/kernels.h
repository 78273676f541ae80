// The source of the kernels that measure a device: written once in the subset that src/gpu/dialect.cu defines for CUDA
// and OpenCL; embedded at build.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace ridge::limits::accelerator {

// The source of kernels/<name>.cu or of the dialect; empty if there is none.
std::string_view kernel_text(std::string_view name);

// The dialect, `definitions` ("#define …" lines) and these sources: the compiler's input.
std::string kernel_source(std::string_view definitions, std::initializer_list<std::string_view> names);

}  // namespace ridge::limits::accelerator
