// FakeService: a Service for tests and for measuring a protocol alone. Models answer their own inputs: "echo" at once,
// "slow" on another thread on request, "broken" with an error.
#pragma once

#include <atomic>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "serve/service.h"
#include "serve/text_model.h"

namespace ridge::front {

class FakeService : public serve::Service {
 public:
  // Output i repeats input i, with the requested name or "y0", "y1", …; a single input "x" answers "y".
  static serve::InferResponse echo(const serve::InferRequest& request) {
    serve::InferResponse response;
    response.model = request.model;
    response.version = request.version > 0 ? request.version : 1;
    response.id = request.id;
    for (size_t i = 0; i < request.inputs.size(); ++i) {
      const serve::RequestInput& input = request.inputs[i];
      serve::ResponseOutput& output = response.outputs.emplace_back();
      output.name = i < request.outputs.size() ? request.outputs[i].name
                    : input.name == "x"        ? "y"
                                               : "y" + std::to_string(i);
      output.type = input.type;
      output.shape = input.shape;
      output.data = input.data;
      output.owner = request.body;
      output.in_region = i < request.outputs.size() && request.outputs[i].part;
      if (output.in_region) output.data = {};
    }
    return response;
  }

  void infer(serve::InferRequest request, serve::InferDone done) override {
    if (request.model == "broken") return done(Error{Code::kFailed, "the engine failed"});
    if (request.model == "full") return done(Error{Code::kUnavailable, "the queue is full"});
    if (request.model == "busy")
      return done(Error{Code::kUnavailable, "the queue is long", std::chrono::milliseconds(2100)});
    if (request.model == "slow") {
      MutexLock lock(mutex_);
      waiting_.emplace_back(std::move(request), std::move(done));
      return;
    }
    if (request.model != "echo" && request.model != "identity")
      return done(Error{Code::kNotFound, "Request for unknown model: '" + request.model + "' is not found"});
    serve::InferResponse response = echo(request);
    done(std::move(response));
  }

  // Drops requests of "slow".
  void drop_cancelled() override {
    MutexLock lock(mutex_);
    std::erase_if(waiting_, [](const auto& row) { return row.first.cancelled.stop_requested(); });
  }

  // How many requests to "slow" wait; release() answers them on a thread of its own.
  size_t waiting() {
    MutexLock lock(mutex_);
    return waiting_.size();
  }
  void release() {
    std::vector<std::pair<serve::InferRequest, serve::InferDone>> waiting;
    {
      MutexLock lock(mutex_);
      waiting.swap(waiting_);
    }
    std::jthread([&] {
      for (auto& [request, done] : waiting) done(echo(request));
    });
  }

  bool live() const override { return true; }
  bool ready() const override { return is_ready; }
  bool model_ready(const std::string& model, int64_t version) const override { return metadata(model, version).ok(); }

  Result<serve::ModelMetadata> metadata(const std::string& model, int64_t version) const override {
    auto found = models.find(model);
    if (found == models.end() || version > 1)
      return Error{Code::kNotFound, "Request for unknown model: '" + model + "' is not found"};
    return found->second;
  }
  Result<Json> config(const std::string& model, int64_t) const override {
    return Json{{"name", model}, {"max_batch_size", 0}};
  }
  Result<std::vector<serve::ModelStatistics>> statistics(const std::string& model, int64_t version) const override {
    if (!model.empty() && !metadata(model, version)) return metadata(model, version).error();
    return model_statistics;
  }
  std::vector<serve::IndexEntry> index(bool only_ready) const override {
    std::vector<serve::IndexEntry> entries{{"echo", 1, serve::ModelState::kReady, ""}};
    if (!only_ready) entries.push_back({"never", 0, serve::ModelState::kUnavailable, ""});
    return entries;
  }
  Status check_control() const override { return control; }
  Status load(const std::string& model, const serve::LoadRequest& request) override {
    loaded = request;
    if (model == "missing") return Error{Code::kNotFound, "no such folder"};
    return {};
  }
  std::vector<std::string> long_warm_ups() const override {
    MutexLock lock(mutex_);
    return warming_up_;
  }
  void warm_up_long(const std::string& model) {
    MutexLock lock(mutex_);
    warming_up_.push_back(model);
  }
  Status unload(const std::string&, bool dependents) override {
    unload_dependents = dependents;
    return {};
  }

  Result<serve::TextModelPtr> text_model(const std::string& model) const override {
    ++text_model_calls;
    for (const serve::TextModelPtr& each : texts)
      if (each->name() == model) return each;
    return Error{Code::kNotFound, "Request for unknown model: '" + model + "' is not found"};
  }
  std::vector<serve::TextModelPtr> text_models() const override { return texts; }

  Status register_region(serve::RegionRequest region) override {
    if (region.key == "/absent") return invalid("Unable to open shared memory region: '/absent'");
    const std::string name = region.name;
    registered[name] = std::move(region);
    return {};
  }
  void unregister_regions(serve::RegionKind kind, const std::string& name) override {
    std::erase_if(registered,
                  [&](const auto& row) { return row.second.kind == kind && (name.empty() || row.first == name); });
  }
  Result<std::vector<serve::RegionRequest>> regions(serve::RegionKind kind, const std::string& name) const override {
    if (!name.empty() && !registered.contains(name)) return Error{Code::kNotFound, "no region '" + name + "'"};
    std::vector<serve::RegionRequest> found;
    for (const auto& [key, region] : registered)
      if (region.kind == kind && (name.empty() || key == name)) found.push_back(region);
    return found;
  }

  bool is_ready = true;
  std::map<std::string, serve::ModelMetadata> models{
      {"echo", {"echo", {1}, "echo_platform", {{"x", DataType::kFp32, {-1, 16}}}, {{"y", DataType::kFp32, {-1, 16}}}}}};
  std::vector<serve::TextModelPtr> texts;
  mutable std::atomic<int> text_model_calls = 0;
  std::vector<serve::ModelStatistics> model_statistics;
  serve::LoadRequest loaded;
  Status control;
  std::map<std::string, serve::RegionRequest> registered;
  bool unload_dependents = false;

 private:
  mutable Mutex mutex_;
  std::vector<std::pair<serve::InferRequest, serve::InferDone>> waiting_ RIDGE_GUARDED_BY(mutex_);
  std::vector<std::string> warming_up_ RIDGE_GUARDED_BY(mutex_);  // for long
};

}  // namespace ridge::front
