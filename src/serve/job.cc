#include "serve/job.h"

#include <algorithm>
#include <utility>

namespace ridge::serve {

void finish(JobPtr job, Result<InferResponse> answer) {
  for (RequestInput& input : job->request.inputs) input.part.reset();
  for (WantedOutput& output : job->wanted) output.part.reset();
  job->done(std::move(answer));
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
