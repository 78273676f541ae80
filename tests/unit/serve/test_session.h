// For tests of this folder: an engine session with a given run function, a gate to hold it, and a temporary repository.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <functional>
#include <future>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/mutex.h"
#include "base/temporary_folder.h"
#include "engine/engine.h"
#include "serve/server.h"
#include "serve/service.h"

namespace ridge::serve {

// Copies or hands over `bytes` as the result, as an engine does.
inline void give(engine::Output& output, DataType type, const Shape& shape, std::span<const std::byte> bytes) {
  output.type = type;
  output.shape = shape;
  if (output.data.empty()) {
    auto block = std::make_shared<Buffer>(bytes.size());
    output.data = block->span();
    output.owner = block;
  }
  if (!bytes.empty()) std::memcpy(output.data.data(), bytes.data(), std::min(bytes.size(), output.data.size()));
}

class TestSession : public engine::Session {
 public:
  using Run = std::function<Status(std::span<const TensorView>, std::span<const int>, std::span<engine::Output>)>;
  TestSession(engine::Signature signature, Run run) : signature_(std::move(signature)), run_(std::move(run)) {}
  // Output i repeats input i.
  explicit TestSession(engine::Signature signature) : TestSession(std::move(signature), echo) {}

  static Status echo(std::span<const TensorView> inputs, std::span<const int> wanted,
                     std::span<engine::Output> outputs) {
    for (size_t i = 0; i < wanted.size(); ++i) {
      const TensorView& input = inputs[static_cast<size_t>(wanted[i])];
      give(outputs[i], input.type, input.shape, input.data);
    }
    return {};
  }

  const engine::Signature& signature() const override { return signature_; }
  const engine::Info& info() const override { return info_; }
  Status run(std::span<const TensorView> inputs, std::span<const int> wanted, std::span<engine::Output> outputs,
             engine::RunTimes*) override {
    return run_(inputs, wanted, outputs);
  }
  Result<std::vector<engine::NodeTime>> take_profile(int) override { return std::vector<engine::NodeTime>{}; }
  void terminate() override {
    if (on_terminate) on_terminate();
  }

  std::function<void()> on_terminate;

 private:
  engine::Signature signature_;
  engine::Info info_{"test", "1", "", "cpu", {}};
  Run run_;
};

// Holds those who pass until it is opened.
class Gate {
 public:
  void pass() {
    MutexLock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    while (!open_) changed_.wait(lock);
  }
  void open() {
    MutexLock lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  // Returns when `count` have come (since the beginning).
  void await(int count) {
    MutexLock lock(mutex_);
    while (waiting_ < count) changed_.wait(lock);
  }

 private:
  Mutex mutex_;
  ConditionVariable changed_;
  int waiting_ RIDGE_GUARDED_BY(mutex_) = 0;
  bool open_ RIDGE_GUARDED_BY(mutex_) = false;
};

class TestFolder {
 public:
  const std::string& path() const { return folder_.path(); }
  void write(const std::string& name, const std::string& content) const {
    EXPECT_TRUE(write_file_atomically(path() + "/" + name, content).ok());
  }
  void remove(const std::string& name) const { std::filesystem::remove_all(path() + "/" + name); }

 private:
  TemporaryFolder folder_ = *TemporaryFolder::make();
};

// x FP32 [-1,2] → y FP32 [-1,2].
inline engine::Signature pair_signature() {
  return {{{"x", DataType::kFp32, {-1, 2}}}, {{"y", DataType::kFp32, {-1, 2}}}};
}

inline std::span<const std::byte> bytes_of(const std::vector<float>& values) {
  return std::as_bytes(std::span(values));
}

inline std::vector<float> floats_of(std::span<const std::byte> bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

// A request for pair_signature()'s x with its own memory.
inline InferRequest pair_request(const std::string& model, std::vector<float> values, const std::string& id = "") {
  InferRequest request;
  request.model = model;
  request.id = id;
  auto body = std::make_shared<std::vector<float>>(std::move(values));
  request.inputs.push_back({"x", DataType::kFp32, {static_cast<int64_t>(body->size() / 2), 2}, bytes_of(*body)});
  request.body = body;
  return request;
}

// infer() and its answer as a future. Waiting for it is the test's way to wait for the server.
inline std::future<Result<InferResponse>> infer(Service& service, InferRequest request) {
  auto promise = std::make_shared<std::promise<Result<InferResponse>>>();
  std::future<Result<InferResponse>> answer = promise->get_future();
  service.infer(std::move(request),
                [promise](Result<InferResponse> response) { promise->set_value(std::move(response)); });
  return answer;
}

}  // namespace ridge::serve
