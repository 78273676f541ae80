#include "engine/openvino/plugin/executable.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/mutex.h"

namespace ridge::engine::openvino::plugin {
namespace {

struct Table {
  Mutex mutex;
  std::map<std::string, std::weak_ptr<Executable>> by_key RIDGE_GUARDED_BY(mutex);
};

Table& table() {
  static auto* table = new Table;  // leaked: sessions may end after static destruction
  return *table;
}

}  // namespace

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

Result<std::shared_ptr<Executable>> shared_executable(
    const std::string& key, const std::function<Result<std::shared_ptr<Executable>>()>& make) {
  Table& shared = table();
  MutexLock lock(shared.mutex);  // held during compilation: two instances must not both do it
  std::erase_if(shared.by_key, [](const auto& entry) { return entry.second.expired(); });
  if (auto known = shared.by_key.find(key); known != shared.by_key.end())
    if (std::shared_ptr<Executable> living = known->second.lock()) return living;
  RIDGE_ASSIGN(std::shared_ptr<Executable> made, make());
  shared.by_key[key] = made;
  return made;
}

}  // namespace ridge::engine::openvino::plugin
