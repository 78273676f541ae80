// Models that come and go, as a server shows it.
#include "serve/life_cycle.h"

#include <gtest/gtest.h>

#include "serve/test_server.h"
#include "zoo/zoo.h"

namespace ridge::serve {
namespace {

using namespace std::chrono_literals;

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

TEST_F(ServerTest, WhereMemoryIsShortTheGraphOfAModelIsNotReadForItsBounds) {
  std::filesystem::create_directories(folder_.path() + "/m/1");
  const std::string file = folder_.path() + "/m/1/model.onnx";
  ASSERT_TRUE(zoo::make("identity", {}, file));
  const uint64_t bytes = std::filesystem::file_size(file);
  for (const uint64_t times : {2, 4}) {
    ServerOptions bounded = options();
    bounded.open = [](const plan::Plan&) -> Result<std::unique_ptr<engine::Session>> {
      return std::unique_ptr<engine::Session>(std::make_unique<TestSession>(pair_signature()));
    };
    bounded.bound = [](const model::Graph&, Precision) { return 1.0; };
    bounded.free_memory = [=] { return times * bytes; };
    auto server = *start(std::move(bounded));
    EXPECT_EQ(server->statistics("m", 1)->front().bound_ns.has_value(), times == 4) << times;
  }
}

}  // namespace
}  // namespace ridge::serve
