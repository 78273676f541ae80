// Compiled models and their infer requests. Thread-safe.
#pragma once

#include <functional>
#include <memory>
#include <openvino/runtime/compiled_model.hpp>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "engine/openvino/plugin/request.h"

namespace ridge::engine::openvino::plugin {

// A compiled model with a pool of infer requests, one for each that ever ran at once.
class Executable {
 public:
  // `executed`: the precisions that were read back from it, for people.
  Executable(ov::CompiledModel model, std::string executed)
      : model_(std::move(model)), executed_(std::move(executed)) {}
  const ov::CompiledModel& model() const { return model_; }
  const std::string& executed() const { return executed_; }
  // A free request, preferably one whose first input is already at `first_input`. Throws what OpenVINO throws.
  std::unique_ptr<Request> acquire(const std::byte* first_input);
  // Only after a successful run: a failed one leaves an unknown state.
  void give_back(std::unique_ptr<Request> request);

 private:
  ov::CompiledModel model_;
  const std::string executed_;
  Mutex mutex_;
  std::vector<std::unique_ptr<Request>> free_ RIDGE_GUARDED_BY(mutex_);
};

// The compiled model for `key`, shared by sessions of the process; created by `make` if there is none. It lives as long
// as a session uses it.
Result<std::shared_ptr<Executable>> shared_executable(const std::string& key,
                                                      const std::function<Result<std::shared_ptr<Executable>>()>& make);

}  // namespace ridge::engine::openvino::plugin
