// For tests of this folder: ensembles in a server whose engines are functions.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/fake_clock.h"
#include "serve/test_session.h"

namespace ridge::serve {

inline const std::string kUnwarmed = "parameters { key: \"ridge_warmup\" value { string_value: \"off\" } } ";
inline const std::string kPair =
    "platform: \"ensemble\" max_batch_size: 4 input { name: \"x\" data_type: TYPE_FP32 dims: 2 } "
    "output { name: \"y\" data_type: TYPE_FP32 dims: 2 } ";

inline TestSession::Run each(std::function<float(float)> f) {
  return [f](std::span<const TensorView> inputs, std::span<const int>, std::span<engine::Output> outputs) {
    std::vector<float> values = floats_of(inputs[0].data);
    for (float& value : values) value = f(value);
    give(outputs[0], DataType::kFp32, inputs[0].shape, bytes_of(values));
    return Status();
  };
}

inline TestSession::Run sum_of_two() {
  return [](std::span<const TensorView> inputs, std::span<const int>, std::span<engine::Output> outputs) {
    std::vector<float> values = floats_of(inputs[0].data);
    const std::vector<float> more = floats_of(inputs[1].data);
    for (size_t i = 0; i < values.size(); ++i) values[i] += more[i];
    give(outputs[0], DataType::kFp32, inputs[0].shape, bytes_of(values));
    return Status();
  };
}

inline const engine::Signature kTwoInputs = {{{"a", DataType::kFp32, {-1, 2}}, {"b", DataType::kFp32, {-1, 2}}},
                                             {{"y", DataType::kFp32, {-1, 2}}}};

// One of ensemble_scheduling: `inputs` and the output "y" of the model, as tensors of the ensemble.
inline std::string step(const std::string& model, const std::map<std::string, std::string>& inputs,
                        const std::string& output) {
  std::string text = "step { model_name: \"" + model + "\" model_version: -1 ";
  for (const auto& [of_model, tensor] : inputs)
    text += "input_map { key: \"" + of_model + "\" value: \"" + tensor + "\" } ";
  return text + "output_map { key: \"y\" value: \"" + output + "\" } } ";
}

inline bool has_text(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class EnsembleTest : public testing::Test {
 protected:
  // Adds a model x → y, or one with that `signature`.
  void add(const std::string& name, TestSession::Run run, const std::string& config = "max_batch_size: 4 ",
           const engine::Signature& signature = pair_signature()) {
    models_[name] = {signature, std::move(run)};
    folder_.write(name + "/1/model.onnx", "");
    folder_.write(name + "/config.pbtxt", config + kUnwarmed);
  }
  void add_ensemble(const std::string& name, const std::string& steps, const std::string& head = kPair) const {
    std::filesystem::create_directories(folder_.path() + "/" + name + "/1");
    folder_.write(name + "/config.pbtxt", head + "ensemble_scheduling { " + steps + "}");
  }
  // (x + 1) * 10
  void add_chain(const std::string& name = "e") {
    add("plus", each([](float x) { return x + 1; }));
    add("times", each([](float x) { return x * 10; }));
    add_ensemble(name, step("plus", {{"x", "x"}}, "mid") + step("times", {{"x", "mid"}}, "y"));
  }
  std::unique_ptr<Server> start_server(ControlMode control = ControlMode::kNone,
                                       const std::vector<std::string>& models = {}, uint64_t cache_bytes = 0) {
    ServerOptions options;
    options.response_cache_bytes = cache_bytes;
    options.repositories = {folder_.path()};
    options.control = control;
    options.startup_models = models;
    options.clock = &clock_;
    options.open = [this](const plan::Plan& plan) -> Result<std::unique_ptr<engine::Session>> {
      const auto& [signature, run] =
          models_.at(std::filesystem::path(plan.model).parent_path().parent_path().filename().string());
      return std::unique_ptr<engine::Session>(std::make_unique<TestSession>(signature, run));
    };
    return *start(std::move(options));
  }
  static std::string state_of(const Server& server, const std::string& model) {
    for (const IndexEntry& entry : server.index(false))
      if (entry.name == model) return std::string(model_state_name(entry.state)) + " " + entry.reason;
    return "absent";
  }
  static ModelStatistics statistics_of(const Server& server, const std::string& model) {
    return server.statistics(model, 1)->front();
  }
  static std::vector<float> values_of(const Result<InferResponse>& answer) {
    if (!answer) ADD_FAILURE() << answer.error().message;
    return answer ? floats_of(answer->outputs[0].data) : std::vector<float>();
  }

  TestFolder folder_;
  FakeClock clock_;
  std::map<std::string, std::pair<engine::Signature, TestSession::Run>> models_;
};

}  // namespace ridge::serve
