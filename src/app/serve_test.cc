// The life of the server over scripted sessions. Its clock moves only when the test moves it.
#include "app/serve.h"

#include <gtest/gtest.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/fake_clock.h"
#include "front/http/test_client.h"
#include "serve/test_session.h"

namespace ridge::app {
namespace {

using front::http::TestClient;

class ServeTest : public testing::Test {
 protected:
  void SetUp() override {
    request_.server.repositories = {folder_.path()};
    request_.server.open = [this](const plan::Plan& plan) { return open_session(plan); };
    request_.http_address = "127.0.0.1";
    request_.http_port = request_.metrics_port = 0;
    request_.allow_grpc = false;
    request_.http_threads = 1;
    control_.clock = &clock_;
    control_.next_signal = [](Nanoseconds) { return 0; };
    control_.not_loaded = [this](const std::string& reasons) { not_loaded_ = reasons; };
    add_model("m");
  }

  // Model files of these tests are empty, or hold "broken", or "slow": a session that opens or runs at a gate.
  Result<std::unique_ptr<engine::Session>> open_session(const plan::Plan& plan) {
    const std::string content = read_file(plan.model).value();
    if (content == "broken") return Error{Code::kInvalid, "this is broken"};
    if (content == "opens slowly") gate_.pass();
    if (content != "runs slowly")
      return std::unique_ptr<engine::Session>(std::make_unique<serve::TestSession>(serve::pair_signature()));
    return std::unique_ptr<engine::Session>(
        std::make_unique<serve::TestSession>(serve::pair_signature(), [this](auto inputs, auto wanted, auto outputs) {
          gate_.pass();
          return serve::TestSession::echo(inputs, wanted, outputs);
        }));
  }
  void add_model(const std::string& name, const std::string& content = "") const {
    folder_.write(name + "/1/model.onnx", content);
    folder_.write(name + "/config.pbtxt", R"(parameters { key: "ridge_warmup" value { string_value: "off" } })");
  }

  std::unique_ptr<ServeRun> open() {
    Result<std::unique_ptr<ServeRun>> run = ServeRun::open(request_);
    EXPECT_TRUE(run) << run.error().message;
    return run ? std::move(*run) : nullptr;
  }
  static void await_ready(ServeRun& run, const std::string& model) {
    while (!run.server().model_ready(model, 0)) std::this_thread::yield();
  }
  static std::string ask_for(const std::string& model) {
    const std::string body = R"({"inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 2], "data": [3, 4]}]})";
    return "POST /v2/models/" + model + "/infer HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\n\r\n" + body;
  }

  serve::TestFolder folder_;
  serve::Gate gate_;
  FakeClock clock_;
  ServeRequest request_;
  ServeControl control_;
  std::string not_loaded_;
};

TEST_F(ServeTest, LoadsTheRepositoryAnswersAndDrainsAtASignal) {
  const std::unique_ptr<ServeRun> run = open();
  ASSERT_TRUE(run);
  EXPECT_FALSE(run->server().ready());  // nothing is loaded before run()
  int signals = 0;
  control_.next_signal = [&](Nanoseconds) {
    if (signals++ > 0) return 0;
    await_ready(*run, "m");
    EXPECT_EQ(TestClient(run->http_port()).ask(ask_for("m")).value().status, 200);
    EXPECT_EQ(TestClient(run->metrics_port()).ask("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").value().status, 200);
    return SIGTERM;
  };
  EXPECT_EQ(run->run(control_), ServeEnd::kDone);
  EXPECT_TRUE(run->server().draining());
  EXPECT_EQ(run->http_port(), 0);
  EXPECT_TRUE(not_loaded_.empty());
}

TEST_F(ServeTest, WritesItsPortsAndOpensNoneForMetricsWhereHttpHasIt) {
  request_.port_file = folder_.path() + "-ports";
  request_.allow_http = false;
  const std::unique_ptr<ServeRun> metrics_only = open();
  ASSERT_TRUE(metrics_only);
  EXPECT_EQ(read_file(request_.port_file).value(),
            "{\"metrics\":" + std::to_string(metrics_only->metrics_port()) + "}\n");
  // A free port; an error if another process takes it before it is opened again.
  const uint16_t port = metrics_only->metrics_port();
  request_.http_port = port;
  EXPECT_TRUE(ServeRun::open(request_));  // no HTTP port: nothing in the way
  request_.allow_http = true;
  EXPECT_FALSE(ServeRun::open(request_));  // taken
  std::filesystem::remove(request_.port_file);
}

TEST_F(ServeTest, AModelThatCannotBeLoadedEndsTheServerOnlyIfThatIsWanted) {
  add_model("bad", "broken");
  request_.exit_on_error = true;
  EXPECT_EQ(open()->run(control_), ServeEnd::kNotLoaded);
  EXPECT_NE(not_loaded_.find("'bad'"), std::string::npos);
  EXPECT_NE(not_loaded_.find("this is broken"), std::string::npos);
  EXPECT_EQ(not_loaded_.find("'m'"), std::string::npos);

  not_loaded_.clear();
  request_.exit_on_error = false;
  const std::unique_ptr<ServeRun> run = open();
  bool signalled = false;
  control_.next_signal = [&](Nanoseconds) {
    if (signalled) return 0;
    await_ready(*run, "m");
    signalled = true;
    return SIGINT;
  };
  EXPECT_EQ(run->run(control_), ServeEnd::kDone);
  EXPECT_TRUE(not_loaded_.empty());
}

TEST_F(ServeTest, AModelWhoseFilesAreLargerThanTheFreeMemoryIsNotLoaded) {
  request_.server.free_memory = [] { return uint64_t{999}; };
  add_model("large", std::string(1000, 'x'));
  request_.exit_on_error = true;
  const auto run = open();
  ASSERT_NE(run, nullptr);
  EXPECT_EQ(run->run(control_), ServeEnd::kNotLoaded);
  EXPECT_NE(not_loaded_.find(
                "'large' (version 1: its files have 1000 B, which its weights take at least, and 999 B of memory"),
            std::string::npos)
      << not_loaded_;
}

TEST_F(ServeTest, DrainsByItselfAtSigtermOfAServerThatOtherMachinesReach) {
  ServeRequest request;
  EXPECT_EQ(drain_time(request, SIGTERM), std::chrono::seconds(5));
  EXPECT_EQ(drain_time(request, SIGINT), std::chrono::seconds(0));
  EXPECT_EQ(drain_time(request, SIGHUP), std::chrono::seconds(0));
  request.http_address = "127.0.0.1";
  EXPECT_EQ(drain_time(request, SIGTERM), std::chrono::seconds(5)) << "gRPC";
  request.grpc_address = "unix:/run/ridge.sock";
  EXPECT_EQ(drain_time(request, SIGTERM), std::chrono::seconds(0));
  request.drain_time = std::chrono::seconds(2);
  EXPECT_EQ(drain_time(request, SIGTERM), std::chrono::seconds(2));
  EXPECT_EQ(drain_time(request, SIGINT), std::chrono::seconds(2));
}

TEST_F(ServeTest, ASecondSignalWaitsForNothing) {
  add_model("slow", "runs slowly");
  const std::unique_ptr<ServeRun> run = open();
  std::future<Result<serve::InferResponse>> answer;
  control_.next_signal = [&](Nanoseconds) {
    if (!answer.valid()) {
      await_ready(*run, "slow");
      answer = serve::infer(run->server(), serve::pair_request("slow", {1, 2}));
      gate_.await(1);
    }
    return SIGTERM;
  };
  EXPECT_EQ(run->run(control_), ServeEnd::kSignalled);
  gate_.open();
  EXPECT_TRUE(answer.get());
}

TEST_F(ServeTest, ARequestThatTakesLongerThanTheDrainMayIsNotWaitedForAndThoseBehindItAreRefused) {
  add_model("slow", "runs slowly");
  request_.exit_timeout = std::chrono::seconds(2);
  const std::unique_ptr<ServeRun> run = open();
  TestClient client(run->http_port()), second(run->http_port());
  TimePoint begin{};
  control_.next_signal = [&](Nanoseconds at_most) {
    if (begin == TimePoint{}) {
      await_ready(*run, "slow");
      EXPECT_TRUE(client.send(ask_for("slow")));
      gate_.await(1);
      EXPECT_TRUE(second.send(ask_for("slow")));
      while (run->server().statistics("slow", 0).value().front().pending == 0) std::this_thread::yield();
      begin = clock_.now();
      return SIGTERM;
    }
    clock_.advance(at_most);
    return 0;
  };
  EXPECT_EQ(run->run(control_), ServeEnd::kUnanswered);
  EXPECT_EQ(clock_.now() - begin,
            std::chrono::seconds(4));  // one more when there is nothing to wait for, and one to refuse
  EXPECT_EQ(second.read().value().status, 503);
  gate_.open();
  EXPECT_EQ(client.read().value().status, 200);
}

TEST_F(ServeTest, ALoadThatCannotBeInterruptedIsCutOffOnceEveryRequestIsAnswered) {
  add_model("slow", "opens slowly");
  const std::unique_ptr<ServeRun> run = open();
  const uint16_t metrics_port = run->metrics_port();
  bool signalled = false;
  control_.next_signal = [&](Nanoseconds at_most) {
    if (!signalled) {
      gate_.await(1);
      signalled = true;
      return SIGTERM;
    }
    while (TestClient(metrics_port).connected()) std::this_thread::yield();  // closes when all requests are answered
    clock_.advance(at_most);
    return 0;
  };
  EXPECT_EQ(run->run(control_), ServeEnd::kCutOff);
  gate_.open();
}

TEST_F(ServeTest, AFileIsServedUnderItsName) {
  folder_.write("plain.onnx", "");
  request_.server.repositories = {folder_.path() + "/plain.onnx"};
  const std::unique_ptr<ServeRun> run = open();
  ASSERT_TRUE(run);
  int signals = 0;
  control_.next_signal = [&](Nanoseconds) {
    if (signals++ > 0) return 0;
    await_ready(*run, "plain");
    EXPECT_EQ(TestClient(run->http_port()).ask(ask_for("plain")).value().status, 200);
    return SIGTERM;
  };
  EXPECT_EQ(run->run(control_), ServeEnd::kDone);
}

TEST_F(ServeTest, ARepositoryWithoutModelsIsAnErrorUnlessTheyComeLater) {
  const serve::TestFolder empty;
  request_.server.repositories = {empty.path()};
  EXPECT_EQ(ServeRun::open(request_).error().code, Code::kNotFound);
  request_.server.control = serve::ControlMode::kExplicit;
  EXPECT_TRUE(ServeRun::open(request_));
}

TEST_F(ServeTest, ARepositoryThatCannotBeReadIsAnErrorBeforeAnythingIsOpened) {
  request_.server.repositories = {folder_.path() + "/nothing"};
  EXPECT_FALSE(ServeRun::open(request_));
}

}  // namespace
}  // namespace ridge::app
