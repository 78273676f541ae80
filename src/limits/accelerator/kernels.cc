#include "limits/accelerator/kernels.h"

namespace ridge::limits::accelerator {

std::string kernel_source(std::string_view definitions, std::initializer_list<std::string_view> names) {
  std::string source(kernel_text("dialect"));
  source += definitions;
  for (std::string_view name : names) source += kernel_text(name);
  return source;
}

}  // namespace ridge::limits::accelerator
