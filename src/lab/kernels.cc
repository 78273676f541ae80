#include "lab/kernels.h"

namespace ridge::lab {

std::string kernel_source(std::string_view name) {
  return std::string(kernel_text("dialect")) + std::string(kernel_text(name));
}

}  // namespace ridge::lab
