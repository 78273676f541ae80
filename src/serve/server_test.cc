#include "serve/server.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "base/mutex.h"
#include "serve/run_watch.h"
#include "serve/test_server.h"

namespace ridge::serve {
namespace {

using namespace std::chrono_literals;

TEST_F(ServerTest, ServesAModelWithoutConfigurationFromTheGraph) {
  add_model("m");
  auto server = start(options());
  ASSERT_TRUE(server);
  EXPECT_TRUE((*server)->ready());
  auto answer = infer(**server, pair_request("m", {1, 2, 3, 4}, "seven")).get();
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->model, "m");
  EXPECT_EQ(answer->version, 1);
  EXPECT_EQ(answer->id, "seven");
  ASSERT_EQ(answer->outputs.size(), 1u);
  EXPECT_EQ(answer->outputs[0].name, "y");
  EXPECT_EQ(answer->outputs[0].shape, (Shape{2, 2}));
  EXPECT_EQ(floats_of(answer->outputs[0].data), (std::vector<float>{1, 2, 3, 4}));
}

// A session whose runs end only when they are broken off.
OpenFunction opens_endless(Gate& gate) {
  return [&gate](const plan::Plan&) -> Result<std::unique_ptr<engine::Session>> {
    auto session = std::make_unique<TestSession>(pair_signature(), [&gate](auto, auto, auto) {
      gate.pass();
      return Status(Error{Code::kCancelled, "broken off"});
    });
    session->on_terminate = [&gate] { gate.open(); };
    return std::unique_ptr<engine::Session>(std::move(session));
  };
}

TEST_F(ServerTest, AStopBreaksOffAWarmUpThatDoesNotEnd) {
  add_model("m");
  Gate gate;
  ServerOptions endless = options();
  endless.open = opens_endless(gate);
  auto server = *Server::create(endless);
  std::jthread loading([&] { server->load_all(); });
  gate.await(1);
  server->begin_drain();
  loading.join();
  EXPECT_NE(state_of(*server, "m", 1).find("UNAVAILABLE"), std::string::npos);
}

TEST_F(ServerTest, AWarmUpThatDoesNotEndInItsTimeFailsTheLoad) {
  add_model("m");
  Gate gate;
  ServerOptions endless = options();
  endless.open = opens_endless(gate);
  endless.warmup_limit = 30s;
  auto server = *Server::create(endless);
  std::jthread loading([&] { server->load_all(); });
  gate.await(1);
  clock_.await(clock_.now() + 30s);
  clock_.advance(30s);
  loading.join();
  EXPECT_NE(state_of(*server, "m", 1).find("within 30 s"), std::string::npos) << state_of(*server, "m", 1);
}

// Sessions that answer x = 0, and whose other runs end only when the gate opens: `ends`: when they are broken off.
// `alive`: while a session is.
OpenFunction opens_held(Gate& gate, bool ends, std::weak_ptr<int>& alive) {
  return [&gate, &alive, ends](const plan::Plan&) -> Result<std::unique_ptr<engine::Session>> {
    std::shared_ptr<int> token = alive.lock();
    if (!token) alive = token = std::make_shared<int>();
    auto session =
        std::make_unique<TestSession>(pair_signature(), [&gate, token](auto inputs, auto wanted, auto outputs) {
          if (floats_of(inputs[0].data)[0] == 0) return TestSession::echo(inputs, wanted, outputs);
          gate.pass();
          return Status(Error{Code::kCancelled, "broken off"});
        });
    session->on_terminate = [&gate, ends] {
      if (ends) gate.open();
    };
    return std::unique_ptr<engine::Session>(std::move(session));
  };
}

constexpr const char* kNoWarmUp = R"(parameters { key: "ridge_warmup" value { string_value: "off" } })";

TEST_F(ServerTest, ARunLongerThanTheLimitIsBrokenOffAndTheModelServesOn) {
  add_model("m");
  folder_.write("m/config.pbtxt", kNoWarmUp);
  Gate gate;
  std::weak_ptr<int> alive;
  ServerOptions held = options();
  held.open = opens_held(gate, true, alive);
  held.run_limit = 7s;
  auto server = *start(held);
  auto running = infer(*server, pair_request("m", {1, 2}));
  gate.await(1);
  clock_.await(clock_.now() + 7s);
  clock_.advance(7s);
  const Result<InferResponse> answer = running.get();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::kUnavailable);
  EXPECT_NE(answer.error().message.find("7 s (--run-timeout-secs)"), std::string::npos) << answer.error().message;
  EXPECT_TRUE(infer(*server, pair_request("m", {0, 2})).get());
  EXPECT_EQ(state_of(*server, "m", 1), "READY");
}

TEST_F(ServerTest, ARunThatDoesNotEvenEndThenIsGivenUpWithItsVersion) {
  add_model("m");
  folder_.write("m/config.pbtxt", kNoWarmUp);
  Gate gate;
  std::weak_ptr<int> alive;
  ServerOptions held = options(ControlMode::kExplicit);
  held.startup_models = {"m"};
  held.open = opens_held(gate, false, alive);
  held.run_limit = 7s;
  auto server = *start(held);
  auto running = infer(*server, pair_request("m", {1, 2}));
  gate.await(1);
  auto waiting = infer(*server, pair_request("m", {0, 2}));
  clock_.await(clock_.now() + 7s);
  clock_.advance(7s);
  clock_.await(clock_.now() + kBreakOffTime);
  clock_.advance(kBreakOffTime);
  EXPECT_EQ(running.get().error().code, Code::kUnavailable);
  EXPECT_EQ(waiting.get().error().code, Code::kUnavailable);
  while (server->model_ready("m", 0)) std::this_thread::yield();
  EXPECT_TRUE(state_of(*server, "m", 1).starts_with("UNAVAILABLE a run took longer than 7 s"))
      << state_of(*server, "m", 1);
  EXPECT_FALSE(server->ready());
  EXPECT_EQ(server->given_up(), (std::vector<std::pair<std::string, uint64_t>>{{"m", 1}}));
  ASSERT_TRUE(server->load("m", {})) << "it is loaded anew";
  EXPECT_TRUE(infer(*server, pair_request("m", {0, 2})).get());
  server->drain();  // does not wait for the run
  EXPECT_FALSE(alive.expired());
  gate.open();
  while (!alive.expired()) std::this_thread::yield();  // it frees what it was given up with
}

TEST_F(ServerTest, AbortRefusesWhatWaitsAndBreaksOffWhatRuns) {
  add_model("m");
  folder_.write("m/config.pbtxt", R"(parameters { key: "ridge_warmup" value { string_value: "off" } })");
  Gate gate;
  ServerOptions endless = options();
  endless.open = opens_endless(gate);
  auto server = *start(endless);
  auto running = infer(*server, pair_request("m", {1, 2}));
  gate.await(1);
  auto waiting = infer(*server, pair_request("m", {1, 2}));
  server->begin_drain();
  server->abort();
  EXPECT_EQ(running.get().error().code, Code::kUnavailable);
  EXPECT_EQ(waiting.get().error().code, Code::kUnavailable);
  server->drain();
}

TEST_F(ServerTest, DescribesItsModels) {
  add_model("m", 3);
  auto server = *start(options());
  auto metadata = server->metadata("m", 0);
  ASSERT_TRUE(metadata);
  EXPECT_EQ(metadata->versions, (std::vector<int64_t>{3}));
  EXPECT_EQ(metadata->platform, "onnxruntime_onnx");
  EXPECT_EQ(metadata->inputs[0].shape, (Shape{-1, 2}));
  EXPECT_EQ(metadata->max_batch_size, 4);
  auto config = server->config("m", 3);
  ASSERT_TRUE(config);
  EXPECT_EQ((*config)["max_batch_size"], 4);
  EXPECT_TRUE(config->contains("dynamic_batching"));
}

TEST_F(ServerTest, NamesWhatIsUnknown) {
  add_model("m");
  auto server = *start(options());
  auto answer = infer(*server, pair_request("n", {1, 2})).get();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::kNotFound);
  EXPECT_EQ(answer.error().message, "Request for unknown model: 'n' is not found");
  InferRequest request = pair_request("m", {1, 2});
  request.version = 9;
  answer = infer(*server, std::move(request)).get();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::kNotFound);
  EXPECT_FALSE(server->model_ready("n", 0));
  EXPECT_FALSE(server->statistics("n", 0));
}

TEST_F(ServerTest, AModelThatFailsStandsBesideOneThatServes) {
  add_model("good");
  add_model("bad", 1, "broken");
  auto server = *start(options());
  EXPECT_FALSE(server->ready());
  EXPECT_TRUE(server->model_ready("good", 0));
  EXPECT_TRUE(infer(*server, pair_request("good", {1, 2})).get());
  auto answer = infer(*server, pair_request("bad", {1, 2})).get();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::kUnavailable);
  EXPECT_NE(state_of(*server, "bad", 1).find("UNAVAILABLE version 1: "), std::string::npos)
      << state_of(*server, "bad", 1);
  folder_.remove("bad");
  EXPECT_TRUE(server->ready()) << "a model whose folder is gone need not be served";
}

TEST_F(ServerTest, InstancesAreOpenedOnTheirGpus) {
  add_model("m");
  folder_.write("m/config.pbtxt",
                "instance_group { kind: KIND_GPU count: 2 gpus: [ 0, 1 ] } instance_group { kind: KIND_CPU }");
  ServerOptions on_gpus = options();
  Mutex mutex;
  std::multiset<std::string> devices;
  on_gpus.find_gpus = [](const plan::Plan&) { return std::vector<int>{0, 1}; };
  on_gpus.open = [&](const plan::Plan& plan) {
    MutexLock lock(mutex);
    devices.insert(plan.device);
    return open(plan);
  };
  auto server = *start(on_gpus);
  EXPECT_TRUE(server->ready()) << state_of(*server, "m", 1);
  EXPECT_EQ(devices, (std::multiset<std::string>{"cpu", "cuda:0", "cuda:0", "cuda:1", "cuda:1"}));
  const Json groups = (*server->config("m", 1))["instance_group"];
  EXPECT_EQ(groups[0]["kind"], "KIND_GPU");
  EXPECT_EQ(groups[0]["gpus"], Json::parse("[0,1]"));
}

TEST_F(ServerTest, AModelForAGpuThatIsNotThereDoesNotLoadAndSaysWhyWhileOthersServe) {
  add_model("here");
  add_model("there");
  folder_.write("there/config.pbtxt", "instance_group { kind: KIND_GPU }");
  ServerOptions without = options();
  without.find_gpus = [](const plan::Plan&) { return std::vector<int>(); };
  without.open = [](const plan::Plan& plan) -> Result<std::unique_ptr<engine::Session>> {
    if (plan.device != "cpu") return Error{Code::kUnavailable, "device " + plan.device + " cannot be used: no driver"};
    return open(plan);
  };
  auto server = *start(without);
  EXPECT_TRUE(infer(*server, pair_request("here", {1, 2})).get());
  EXPECT_FALSE(server->model_ready("there", 0));
  EXPECT_EQ(state_of(*server, "there", 1), "UNAVAILABLE version 1: device cuda:0 cannot be used: no driver");
}

TEST_F(ServerTest, AnUnreadableConfigurationIsNamedWithItsPlace) {
  add_model("m");
  folder_.write("m/config.pbtxt", "max_batch_size: 4\nnonsense: 1\n");
  auto server = *start(options());
  auto entries = server->index(false);
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_NE(entries[0].reason.find("m/config.pbtxt:2:"), std::string::npos) << entries[0].reason;
  EXPECT_NE(entries[0].reason.find("nonsense"), std::string::npos);
}

TEST_F(ServerTest, AMissingRepositoryIsAnError) {
  ServerOptions missing = options();
  missing.repositories = {folder_.path() + "/nowhere"};
  auto server = start(missing);
  ASSERT_FALSE(server);
  EXPECT_NE(server.error().message.find("nowhere"), std::string::npos);
  missing.repositories.clear();
  EXPECT_FALSE(start(missing));
}

TEST_F(ServerTest, DrainAnswersWhatWasAcceptedAndRefusesTheRest) {
  add_model("m");
  auto gate = std::make_shared<Gate>();
  auto warm = std::make_shared<std::atomic<bool>>(false);
  ServerOptions gated = options();
  gated.open = [gate, warm](const plan::Plan&) -> Result<std::unique_ptr<engine::Session>> {
    return std::unique_ptr<engine::Session>(
        std::make_unique<TestSession>(pair_signature(), [gate, warm](auto inputs, auto wanted, auto outputs) {
          if (*warm) gate->pass();
          return TestSession::echo(inputs, wanted, outputs);
        }));
  };
  auto server = *start(gated);
  *warm = true;
  auto running = infer(*server, pair_request("m", {1, 2}));
  gate->await(1);
  auto waiting = infer(*server, pair_request("m", {3, 4}));
  server->begin_drain();
  EXPECT_FALSE(server->ready());
  auto refused = infer(*server, pair_request("m", {5, 6})).get();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  std::jthread opener([&] {
    await_state(*server, "m", 1, "UNLOADING");  // drain() has begun and waits
    gate->open();
  });
  server->drain();
  ASSERT_EQ(running.wait_for(0s), std::future_status::ready);
  ASSERT_EQ(waiting.wait_for(0s), std::future_status::ready);
  EXPECT_TRUE(running.get());
  EXPECT_TRUE(waiting.get());
}

// begin_drain() while the first model is being opened: that step ends, and no further one begins.
TEST_F(ServerTest, DrainBreaksOffTheLoading) {
  for (const char* name : {"a", "b", "c"}) add_model(name);
  folder_.write("a/config.pbtxt", "max_batch_size: 4 instance_group { count: 3 kind: KIND_CPU }");
  Gate gate;
  std::atomic<int> opened{0}, runs{0};
  ServerOptions gated = options();
  gated.load_threads = 1;
  gated.open = [&](const plan::Plan&) -> Result<std::unique_ptr<engine::Session>> {
    ++opened;
    gate.pass();
    return std::unique_ptr<engine::Session>(
        std::make_unique<TestSession>(pair_signature(), [&](auto inputs, auto wanted, auto outputs) {
          ++runs;
          return TestSession::echo(inputs, wanted, outputs);
        }));
  };
  auto server = *Server::create(gated);
  std::jthread loader([&] { server->load_all(); });
  gate.await(1);
  server->begin_drain();
  gate.open();
  loader.join();
  server->drain();
  EXPECT_EQ(opened, 1);
  EXPECT_EQ(runs, 0) << "no warm-up of what will not serve";
  EXPECT_EQ(state_of(*server, "a", 1), "UNAVAILABLE version 1: the load was cancelled");
  EXPECT_EQ(state_of(*server, "b", 0), "UNAVAILABLE");
}

TEST_F(ServerTest, DrainBreaksOffTheWarmUpOfAPolledModel) {
  add_model("m");
  ServerOptions polled = options(ControlMode::kPoll);
  Gate gate;
  std::atomic<bool> hold{false};
  std::atomic<int> held{0};
  polled.open = [&](const plan::Plan&) -> Result<std::unique_ptr<engine::Session>> {
    return std::unique_ptr<engine::Session>(
        std::make_unique<TestSession>(pair_signature(), [&](auto inputs, auto wanted, auto outputs) {
          if (hold) {
            ++held;
            gate.pass();
          }
          return TestSession::echo(inputs, wanted, outputs);
        }));
  };
  auto server = *start(polled);
  hold = true;
  add_model("n");
  clock_.await(clock_.now() + polled.poll_period);
  clock_.advance(polled.poll_period);
  clock_.await(clock_.now() + std::chrono::seconds(1));
  clock_.advance(std::chrono::seconds(1));
  gate.await(1);
  server->begin_drain();
  gate.open();
  server->drain();
  EXPECT_EQ(held, 1) << "of the batch sizes 1 to 4";
  EXPECT_FALSE(server->model_ready("n", 0));
}

TEST_F(ServerTest, ReloadsAndUnloadsUnderTrafficLoseNothingAccepted) {
  add_model("m");
  ServerOptions explicit_options = options(ControlMode::kExplicit);
  explicit_options.startup_models = {"m"};
  auto server = *start(explicit_options);
  std::atomic<bool> stop{false};
  std::atomic<int> answered{0}, failed{0};
  {
    std::vector<std::jthread> clients;
    for (int i = 0; i < 3; ++i)
      clients.emplace_back([&] {
        while (!stop) {
          auto answer = infer(*server, pair_request("m", {1, 2})).get();
          ++answered;
          if (!answer) ++failed;
        }
      });
    for (int i = 0; i < 20; ++i) {
      folder_.write("m/config.pbtxt", "max_batch_size: " + std::to_string(2 + i % 2) + " dynamic_batching { }");
      EXPECT_TRUE(server->load("m", {}).ok());
    }
    stop = true;
  }
  EXPECT_GT(answered, 0);
  EXPECT_EQ(failed, 0) << "a reload swaps without a gap";
}

}  // namespace
}  // namespace ridge::serve
