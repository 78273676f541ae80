#include "serve/job.h"

#include <algorithm>

namespace ridge::serve {

void release_regions(Job& job) {
  for (RequestInput& input : job.request.inputs) input.part.reset();
  for (WantedOutput& output : job.wanted) output.part.reset();
}

bool mergeable(const Job& a, const Job& b) {
  const auto& left = a.request.inputs;
  const auto& right = b.request.inputs;
  if (left.size() != right.size()) return false;
  for (size_t i = 0; i < left.size(); ++i) {
    if (left[i].type != right[i].type) return false;
    if (left[i].type == DataType::kInvalid) continue;
    if (!std::equal(left[i].shape.begin() + 1, left[i].shape.end(), right[i].shape.begin() + 1, right[i].shape.end()))
      return false;
  }
  return true;
}

}  // namespace ridge::serve
