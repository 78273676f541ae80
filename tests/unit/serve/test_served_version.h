// For tests of this folder: a version whose engine is a function.
#pragma once

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "base/fake_clock.h"
#include "serve/served_version.h"
#include "serve/test_session.h"

namespace ridge::serve {

class ServedVersionTest : public testing::Test {
 protected:
  ServedVersionTest() {
    settings_.name = "m";
    settings_.version = 1;
    settings_.max_batch_size = 4;
    settings_.model_inputs = 1;
    settings_.inputs = {{"x", DataType::kFp32, {2}, {}, false, 0, {}, {}}};
    settings_.outputs = {{"y", DataType::kFp32, {2}, {}, false, 0, {}, Shape{2}}};
    settings_.fixed_input_shapes = true;
    settings_.queue.batch = {true, 4, {}, Nanoseconds(0)};
    settings_.queue.levels = {{}};
  }
  // Starts a version with `instances` sessions that do `run`.
  std::shared_ptr<ServedVersion> start(TestSession::Run run = TestSession::echo, int instances = 1) {
    LoadedModel model;
    settings_.instances = instances;
    model.settings = settings_;
    model.config = std::make_shared<const Json>();
    model.bounded_runs = bounded_runs_;
    model.hosts = hosts_;
    for (int i = 0; i < instances; ++i) model.sessions.push_back(std::make_unique<TestSession>(pair_signature(), run));
    auto version = std::make_shared<ServedVersion>(std::move(model), timer_, clock_, nullptr, RunLimit{}, cache_);
    version->start();
    return version;
  }
  // Its runs wait at the gate.
  std::shared_ptr<ServedVersion> start_gated(const std::shared_ptr<Gate>& gate, int instances = 1) {
    return start(
        [gate](auto inputs, auto wanted, auto outputs) {
          gate->pass();
          return TestSession::echo(inputs, wanted, outputs);
        },
        instances);
  }
  static std::future<Result<InferResponse>> ask(ServedVersion& version, std::vector<float> values,
                                                std::optional<Nanoseconds> timeout = {}) {
    InferRequest request = pair_request("m", std::move(values));
    request.timeout = timeout;
    return send(version, std::move(request));
  }
  static std::future<Result<InferResponse>> send(ServedVersion& version, InferRequest request) {
    auto promise = std::make_shared<std::promise<Result<InferResponse>>>();
    auto answer = promise->get_future();
    version.infer(std::move(request),
                  [promise](Result<InferResponse> response) { promise->set_value(std::move(response)); });
    return answer;
  }

  FakeClock clock_;
  const TimePoint begin_ = clock_.now();
  DeadlineTimer timer_{clock_};
  std::shared_ptr<ResponseCache> cache_ = std::make_shared<ResponseCache>(1 << 20);
  ModelSettings settings_;
  bool bounded_runs_ = false;
  std::vector<HostPolicy> hosts_;
};

}  // namespace ridge::serve
