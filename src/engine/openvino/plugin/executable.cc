#include "engine/openvino/plugin/executable.h"

#include <algorithm>
#include <utility>

namespace ridge::engine::openvino::plugin {

std::unique_ptr<Request> Executable::acquire(const std::byte* first_input) {
  {
    MutexLock lock(mutex_);
    if (!free_.empty()) {
      const auto same = std::find_if(free_.begin(), free_.end(),
                                     [&](const auto& request) { return request->first_input() == first_input; });
      if (same != free_.end()) std::swap(*same, free_.back());
      std::unique_ptr<Request> request = std::move(free_.back());
      free_.pop_back();
      return request;
    }
  }
  return std::make_unique<Request>(model_);
}

void Executable::give_back(std::unique_ptr<Request> request) {
  MutexLock lock(mutex_);
  free_.push_back(std::move(request));
}

}  // namespace ridge::engine::openvino::plugin
