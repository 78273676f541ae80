#include "app/tune_request.h"

#include <algorithm>

namespace ridge::app {

bool gives_rows(const model::Binding& binding) {
  return std::any_of(binding.shapes.begin(), binding.shapes.end(),
                     [](const auto& given) { return !given.second.empty() && given.second[0] > 1; });
}

}  // namespace ridge::app
