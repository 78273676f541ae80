#include "lab/kernels.h"

#include <algorithm>

namespace ridge::lab {

std::string kernel_source(std::string_view names) {
  std::string source(kernel_text("dialect"));
  for (size_t begin = 0; begin < names.size();) {
    size_t end = std::min(names.find(' ', begin), names.size());
    source += kernel_text(names.substr(begin, end - begin));
    begin = end + 1;
  }
  return source;
}

}  // namespace ridge::lab
