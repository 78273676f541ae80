// The kernels that measure a device, as text: written once, in the words that src/gpu/dialect.cu gives both to CUDA and to OpenCL;
// embedded at build.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace ridge::limits::accelerator {

// The text of kernels/<name>.cu or of the dialect; empty when there is none.
std::string_view kernel_text(std::string_view name);

// The dialect, `definitions` ("#define …" lines) and these texts: what a compiler gets.
std::string kernel_source(std::string_view definitions, std::initializer_list<std::string_view> names);

}  // namespace ridge::limits::accelerator
