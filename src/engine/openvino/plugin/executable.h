// A compiled model with as many infer requests as ever ran at once. Thread-safe.
#pragma once

#include <memory>
#include <openvino/runtime/compiled_model.hpp>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "engine/openvino/plugin/request.h"

namespace ridge::engine::openvino::plugin {

class Executable {
 public:
  // `executed`: the precisions that were read back from it, for people.
  Executable(ov::CompiledModel model, std::string executed)
      : model_(std::move(model)), executed_(std::move(executed)) {}
  const ov::CompiledModel& model() const { return model_; }
  const std::string& executed() const { return executed_; }
  // Of the free ones, that whose first input lies at `first_input` already, if there is one. Throws what OpenVINO throws.
  std::unique_ptr<Request> acquire(const std::byte* first_input);
  // Only after a run that went well: what a failed one left is not known.
  void give_back(std::unique_ptr<Request> request);

 private:
  ov::CompiledModel model_;
  const std::string executed_;
  Mutex mutex_;
  std::vector<std::unique_ptr<Request>> free_ RIDGE_GUARDED_BY(mutex_);
};

}  // namespace ridge::engine::openvino::plugin
