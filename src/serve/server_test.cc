#include "serve/server.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "base/fake_clock.h"
#include "base/mutex.h"
#include "serve/run_watch.h"
#include "serve/test_session.h"

namespace ridge::serve {
namespace {

using namespace std::chrono_literals;

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

// Sessions that answer x = 0, and whose other runs end only when the gate opens: `ends`: when they are broken off. `alive`: while a session is.
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

TEST_F(ServerTest, IsNotReadyBeforeEverythingIsLoaded) {
  add_model("m");
  auto server = Server::create(options());
  ASSERT_TRUE(server);
  EXPECT_TRUE((*server)->live());
  EXPECT_FALSE((*server)->ready());
  (*server)->load_all();
  EXPECT_TRUE((*server)->ready());
}

TEST_F(ServerTest, ANameToLoadThatIsNowhereKeepsItUnreadyUntilItIsLoadedOrUnloaded) {
  add_model("resnet");
  ServerOptions mistyped = options(ControlMode::kExplicit);
  mistyped.startup_models = {"resnt", "resnet", "later"};
  auto server = *start(mistyped);
  EXPECT_FALSE(server->ready());
  EXPECT_TRUE(server->model_ready("resnet", 0));
  std::string state = state_of(*server, "resnt", 0);
  EXPECT_EQ(state, "UNAVAILABLE no repository has a model of that name; did you mean 'resnet'? there is 'resnet'");
  auto answer = infer(*server, pair_request("resnt", {1, 2})).get();
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, Code::kUnavailable);
  EXPECT_FALSE(server->load("resnt", {}));
  EXPECT_FALSE(server->ready()) << "asking again changes nothing";
  EXPECT_TRUE(server->unload("resnt", false).ok());
  EXPECT_EQ(state_of(*server, "resnt", 0), "absent");
  EXPECT_FALSE(server->ready()) << "the other one is still missing";
  add_model("later");
  EXPECT_TRUE(server->load("later", {}).ok());
  EXPECT_TRUE(server->ready());
}

TEST_F(ServerTest, LoadsAndUnloadsOnlyInExplicitMode) {
  add_model("m");
  add_model("n");
  auto fixed = *start(options());
  EXPECT_EQ(fixed->load("m", {}).error().code, Code::kUnavailable);
  EXPECT_EQ(fixed->unload("m", false).error().code, Code::kUnavailable);

  ServerOptions explicit_options = options(ControlMode::kExplicit);
  explicit_options.startup_models = {"m"};
  auto server = *start(explicit_options);
  EXPECT_EQ(state_of(*server, "n", 0), "UNAVAILABLE");
  EXPECT_TRUE(server->load("n", {}).ok());
  EXPECT_EQ(state_of(*server, "n", 1), "READY");
  EXPECT_TRUE(server->unload("n", false).ok());
  EXPECT_FALSE(infer(*server, pair_request("n", {1, 2})).get());
  await_state(*server, "n", 1, "UNAVAILABLE unloaded");
  EXPECT_TRUE(server->ready());
  EXPECT_TRUE(server->unload("never", false).ok());
  EXPECT_EQ(server->index(true).size(), 1u);
}

TEST_F(ServerTest, AReloadPicksUpNewVersionsAndKeepsUnchangedOnes) {
  add_model("m", 1);
  folder_.write("m/config.pbtxt", "max_batch_size: 4 version_policy { latest { num_versions: 2 } }");
  ServerOptions explicit_options = options(ControlMode::kExplicit);
  explicit_options.startup_models = {"*"};
  auto server = *start(explicit_options);
  ASSERT_TRUE(infer(*server, pair_request("m", {1, 2})).get());
  add_model("m", 2);
  EXPECT_EQ(state_of(*server, "m", 2), "absent");
  ASSERT_TRUE(server->load("m", {}).ok());
  EXPECT_EQ(server->metadata("m", 0)->versions, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ((*server->statistics("m", 1))[0].success.count, 1u) << "an unchanged version is not loaded again";
  EXPECT_EQ(infer(*server, pair_request("m", {1, 2})).get()->version, 2);
  add_model("m", 3);
  ASSERT_TRUE(server->load("m", {}).ok());
  await_state(*server, "m", 1, "UNAVAILABLE unloaded");
}

TEST_F(ServerTest, AFailedReloadKeepsTheOldModelServing) {
  add_model("m");
  ServerOptions explicit_options = options(ControlMode::kExplicit);
  explicit_options.startup_models = {"m"};
  auto server = *start(explicit_options);
  add_model("m", 1, "broken");
  Status loaded = server->load("m", {});
  ASSERT_FALSE(loaded);
  EXPECT_TRUE(infer(*server, pair_request("m", {1, 2})).get());
  EXPECT_TRUE(server->ready());
}

TEST_F(ServerTest, AFailedLoadOfSomethingUnknownLeavesTheServerReady) {
  add_model("m");
  ServerOptions explicit_options = options(ControlMode::kExplicit);
  explicit_options.startup_models = {"m"};
  auto server = *start(explicit_options);
  for (const std::string name : {"missing", "..", ".", "a/b", "", " ", "/etc"}) {
    EXPECT_FALSE(server->load(name, {})) << name;
  }
  EXPECT_TRUE(server->ready());
  EXPECT_EQ(server->index(false).size(), 1u);
}

TEST_F(ServerTest, ALoadRequestMayBringConfigurationAndFiles) {
  add_model("m");
  auto server = *start(options(ControlMode::kExplicit));
  LoadRequest request;
  request.config_json = R"({"max_batch_size":"3","dynamic_batching":{"max_queue_delay_microseconds":"100"}})";
  ASSERT_TRUE(server->load("m", request).ok());
  EXPECT_EQ((*server->config("m", 0))["max_batch_size"], 3);
  EXPECT_EQ((*server->config("m", 0))["dynamic_batching"]["max_queue_delay_microseconds"], 100);
  request.files = {{"7/model.onnx", ""}};
  ASSERT_TRUE(server->load("sent", request).ok());
  const TimePoint due = clock_.now() + 100us;  // the end of the queue delay
  auto answer = infer(*server, pair_request("sent", {1, 2}));
  clock_.await(due);
  clock_.advance(100us);
  EXPECT_EQ(answer.get()->version, 7);
  EXPECT_FALSE(std::filesystem::exists(folder_.path() + "/sent"));
  request.config_json.reset();
  EXPECT_FALSE(server->load("sent", request)) << "files need a configuration";
  request.config_json = "{}";
  for (const std::string name : {"../evil", "/etc/evil", "1/../../evil", "", "1/"}) {
    request.files = {{name, ""}};
    EXPECT_FALSE(server->load("sent", request)) << name;
  }
  EXPECT_TRUE(server->model_ready("sent", 7));
}

TEST_F(ServerTest, PollingFollowsTheDisk) {
  add_model("m");
  add_model("late");
  ServerOptions poll = options(ControlMode::kPoll);
  const TimePoint begin = clock_.now();
  auto server = *start(poll);
  clock_.await(begin + poll.poll_period);
  add_model("m", 2);
  add_model("new");
  folder_.remove("late");
  clock_.advance(poll.poll_period);
  const TimePoint again = begin + poll.poll_period + std::chrono::seconds(1);
  clock_.await(again);  // it has polled
  EXPECT_EQ(state_of(*server, "new", 1), "absent") << "it may not be whole yet";
  clock_.advance(std::chrono::seconds(1));
  clock_.await(again + poll.poll_period);
  EXPECT_EQ(state_of(*server, "m", 2), "READY");
  EXPECT_EQ(state_of(*server, "new", 1), "READY");
  await_state(*server, "late", 1, "UNAVAILABLE unloaded");
  EXPECT_TRUE(server->ready());
}

TEST_F(ServerTest, AModelThatComesLaterAndFailsLeavesTheServerReady) {
  add_model("m");
  ServerOptions explicit_options = options(ControlMode::kExplicit);
  explicit_options.startup_models = {"m"};
  auto server = *start(explicit_options);
  add_model("bad", 1, "broken");
  EXPECT_FALSE(server->load("bad", {}));
  EXPECT_TRUE(server->ready());
  EXPECT_NE(state_of(*server, "bad", 1).find("UNAVAILABLE version 1: "), std::string::npos);
}

TEST_F(ServerTest, TheIndexNamesAFailedReloadUntilALoadSucceeds) {
  add_model("m");
  ServerOptions explicit_options = options(ControlMode::kExplicit);
  explicit_options.startup_models = {"m"};
  auto server = *start(explicit_options);
  add_model("m", 2, "broken");
  EXPECT_FALSE(server->load("m", {}));
  EXPECT_EQ(state_of(*server, "m", 1), "READY");
  EXPECT_NE(state_of(*server, "m", 2).find("UNAVAILABLE"), std::string::npos);
  folder_.remove("m/2");
  add_model("m", 1, "broken");
  EXPECT_FALSE(server->load("m", {}));
  EXPECT_NE(state_of(*server, "m", 1).find("READY serves as before; its last load failed: "), std::string::npos);
  add_model("m", 1);
  EXPECT_TRUE(server->load("m", {}));
  EXPECT_EQ(state_of(*server, "m", 1), "READY");
  EXPECT_EQ(state_of(*server, "m", 2), "absent") << "its folder is gone";
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
