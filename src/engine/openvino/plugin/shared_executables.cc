#include "engine/openvino/plugin/shared_executables.h"

#include <map>

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
