// For tests of this folder: a server over a temporary repository, whose engines repeat their inputs.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "base/fake_clock.h"
#include "serve/server.h"
#include "serve/test_session.h"

namespace ridge::serve {

class ServerTest : public testing::Test {
 protected:
  // Model files of these tests are empty, or hold "broken".
  static Result<std::unique_ptr<engine::Session>> open(const plan::Plan& plan) {
    if (std::filesystem::file_size(plan.model) > 0) return Error{Code::kInvalid, plan.model + " is broken"};
    return std::unique_ptr<engine::Session>(std::make_unique<TestSession>(pair_signature()));
  }
  void add_model(const std::string& name, int version = 1, const std::string& content = "") const {
    folder_.write(name + "/" + std::to_string(version) + "/model.onnx", content);
  }
  ServerOptions options(ControlMode control = ControlMode::kNone) {
    ServerOptions options;
    options.repositories = {folder_.path()};
    options.control = control;
    options.open = open;
    options.clock = &clock_;
    return options;
  }
  static std::string state_of(const Server& server, const std::string& model, int64_t version) {
    for (const IndexEntry& entry : server.index(false))
      if (entry.name == model && entry.version == version)
        return std::string(model_state_name(entry.state)) + (entry.reason.empty() ? "" : " " + entry.reason);
    return "absent";
  }
  static void await_state(const Server& server, const std::string& model, int64_t version, const std::string& state) {
    while (state_of(server, model, version) != state) std::this_thread::yield();
  }

  TestFolder folder_;
  FakeClock clock_;
};

}  // namespace ridge::serve
