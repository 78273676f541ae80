#include "front/grpc/api.h"

#include <gtest/gtest.h>

#include <thread>

#include "front/fake_service.h"
#include "front/grpc/test_client.h"
#include "front/http/server.h"
#include "grpc_service.pb.h"

namespace ridge::front::grpc {
namespace {

using namespace std::chrono_literals;

// Numbers of gRPC's statuses.
enum Status {
  kOk = 0,
  kCancelled = 1,
  kInvalid = 3,
  kDeadline = 4,
  kNotFound = 5,
  kExhausted = 8,
  kUnimplemented = 12,
  kInternal = 13,
  kUnavailable = 14
};

class GrpcApi : public testing::Test {
 protected:
  void start(ApiOptions options = {}, http::ServerOptions server = {}) {
    server.listen = {"127.0.0.1", 0};
    options.io_threads = static_cast<size_t>(server.threads);
    server.memory = options.memory;
    Result<std::unique_ptr<http::Server>> started =
        http::Server::start(std::move(server), std::make_shared<Api>(service_, std::move(options), threads_));
    ASSERT_TRUE(started) << started.error().message;
    server_ = std::move(*started);
    client_ = std::make_unique<TestClient>(server_->port());
  }

  static std::string request_for(const std::string& model, size_t floats = 2, const std::string& id = "id") {
    inference::ModelInferRequest request;
    request.set_model_name(model);
    request.set_id(id);
    auto* input = request.add_inputs();
    input->set_name("x");
    input->set_datatype("FP32");
    input->add_shape(static_cast<int64_t>(floats));
    request.add_raw_input_contents(std::string(floats * sizeof(float), 'x'));
    return request.SerializeAsString();
  }
  int infer(const std::string& request, const TestClient::Fields& fields = {}) {
    std::string answer;
    const int status = client_->ask("ModelInfer", request, answer, fields).status();
    answer_.ParseFromString(answer);
    return status;
  }
  // Until `count` requests to "slow" wait.
  void await_waiting(size_t count) {
    while (service_.waiting() != count) std::this_thread::yield();
  }
  int32_t infer_slowly() {
    const size_t before = service_.waiting();
    const int32_t stream = client_->start("ModelInfer");
    client_->send(stream, request_for("slow"));
    client_->half_close(stream);
    await_waiting(before + 1);
    return stream;
  }
  std::string next_id(int32_t stream, bool& failed) {
    std::string text;
    inference::ModelStreamInferResponse answer;
    if (!client_->next(stream, text) || !answer.ParseFromString(text)) return "none";
    failed = !answer.error_message().empty();
    return answer.infer_response().id();
  }

  FakeService service_;
  ControlThreads threads_;
  std::unique_ptr<http::Server> server_;
  std::unique_ptr<TestClient> client_;
  inference::ModelInferResponse answer_;
};

TEST_F(GrpcApi, AnswersShortAndLongRequests) {
  start({.memory = std::make_shared<MemoryBudget>(uint64_t{1} << 30)}, {.threads = 2});
  for (size_t floats : {size_t{0}, size_t{2}, size_t{1000}, size_t{500'000}}) {
    ASSERT_EQ(infer(request_for("echo", floats)), kOk);
    EXPECT_EQ(answer_.raw_output_contents(0), std::string(floats * sizeof(float), 'x'));
    EXPECT_EQ(answer_.outputs(0).name(), "y");
    EXPECT_EQ(answer_.id(), "id");
  }
}

TEST_F(GrpcApi, TurnsErrorsIntoCodes) {
  start();
  EXPECT_EQ(infer(request_for("nope")), kNotFound);
  EXPECT_EQ(infer(request_for("full")), kUnavailable);
  EXPECT_EQ(infer(request_for("broken")), kInternal);
  EXPECT_EQ(infer({}), kInvalid);
  std::string answer;
  EXPECT_EQ(client_->ask("Nothing", "", answer).status(), kUnimplemented);
  const TestClient::Call& long_name = client_->ask("ModelInfer", request_for(std::string(50'000, '\xE4')), answer);
  EXPECT_EQ(long_name.status(), kNotFound);
  EXPECT_LT(long_name.fields.at("grpc-message").size(), 7000u);
}

TEST_F(GrpcApi, WhatIsNoCallOfGrpcIsRefusedByHttp) {
  start();
  std::string answer;
  EXPECT_EQ(client_->ask("ServerLive", "", answer, {{":method", "GET"}}).fields.at(":status"), "405");
  EXPECT_EQ(client_->ask("ServerLive", "", answer, {{"content-type", "application/json"}}).fields.at(":status"), "415");
  EXPECT_EQ(client_->ask("ServerLive", "", answer, {{"content-type", "application/grpc+proto"}}).status(), kOk);
}

TEST_F(GrpcApi, ACompressedMessageNeedsAnEncodingThatIsKnown) {
  start();
  for (const auto& [encoding, status] :
       {std::pair{"zstd", kUnimplemented}, std::pair{"identity", kInternal}, std::pair{"gzip", kInvalid}}) {
    const int32_t stream = client_->start("ModelInfer", {{"grpc-encoding", encoding}});
    client_->send(stream, request_for("echo"), true);
    const TestClient::Call& call = client_->wait(stream);
    EXPECT_EQ(call.status(), status) << encoding;
    EXPECT_EQ(call.fields.at("grpc-accept-encoding"), "identity,deflate,gzip");
  }
  const int32_t stream = client_->start("ModelInfer");
  client_->send_raw(stream, std::string("\xff\0\0\0\0", 5));
  EXPECT_EQ(client_->wait(stream).status(), kInternal);
}

TEST_F(GrpcApi, DeadlinesOfCenturiesAreFarAwayAndMalformedOnesRefused) {
  start();
  for (const char* timeout : {"99999999H", "99999999S", "3000000H", "1S"})
    EXPECT_EQ(infer(request_for("echo"), {{"grpc-timeout", timeout}}), kOk) << timeout;
  for (const char* timeout : {"", "S", "1", "-1S", "999999999S", "1x", "1.5S"})
    EXPECT_EQ(infer(request_for("echo"), {{"grpc-timeout", timeout}}), *timeout == 0 ? kOk : kInvalid) << timeout;
}

TEST_F(GrpcApi, ARepositoryByNameIsUnimplemented) {
  start();
  inference::RepositoryModelLoadRequest load;
  load.set_model_name("echo");
  std::string answer;
  EXPECT_EQ(client_->ask("RepositoryModelLoad", load.SerializeAsString(), answer).status(), kOk);
  load.set_repository_name("other");
  EXPECT_EQ(client_->ask("RepositoryModelLoad", load.SerializeAsString(), answer).status(), kUnimplemented);
  EXPECT_EQ(client_->ask("RepositoryIndex", "\x0a\x01r", answer).status(), kUnimplemented);
}

TEST_F(GrpcApi, ALoadIsRefusedAtOnceWhileWarmUpsTakeAllThatMayGoOn) {
  for (const char* model : {"a", "b", "c"}) service_.warm_up_long(model);
  start();
  inference::RepositoryModelLoadRequest load;
  load.set_model_name("echo");
  std::string answer;
  EXPECT_EQ(client_->ask("RepositoryModelLoad", load.SerializeAsString(), answer).status(), kOk);
  service_.warm_up_long("endless");
  const TestClient::Call& refused = client_->ask("RepositoryModelLoad", load.SerializeAsString(), answer);
  EXPECT_EQ(refused.status(), kUnavailable);
  EXPECT_NE(refused.fields.at("grpc-message").find("'endless'"), std::string::npos);
}

TEST_F(GrpcApi, RefusesARequestForWhichNoMemoryIsLeft) {
  start({.memory = std::make_shared<MemoryBudget>(8 << 20)});
  EXPECT_EQ(infer(request_for("echo", 4'000'000)), kExhausted);
  EXPECT_EQ(infer(request_for("echo", 1000)), kOk);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(infer(request_for("echo", 200'000)), kOk) << "memory was not given back";
}

TEST_F(GrpcApi, AnswersThatAClientDoesNotTakeCountInTheMemoryAndEndInTime) {
  start({.memory = std::make_shared<MemoryBudget>(4 << 20)}, {.stall_timeout = 2000ms});
  TestClient unread(server_->port(), 0);
  std::vector<int32_t> streams;
  for (int i = 0; i < 20; ++i) {
    streams.push_back(unread.start("ModelInfer"));
    unread.send(streams.back(), request_for("echo", 200'000));
    unread.half_close(streams.back());
  }
  bool refused = false;
  for (const int32_t stream : streams) {
    const TestClient::Call& call = unread.wait(stream);
    refused |= call.status() == kExhausted;
    EXPECT_TRUE(call.closed && call.status() != kOk);  // refused, or reset as late
  }
  EXPECT_TRUE(refused);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(infer(request_for("echo", 200'000)), kOk) << "memory was not given back";
}

TEST_F(GrpcApi, ACallWhoseMessageNeverComesEndsInTime) {
  start({}, {.stall_timeout = 50ms});
  const int32_t silent = client_->start("ModelInfer"), half = client_->start("ModelStreamInfer");
  const int32_t idle = client_->start("ModelStreamInfer");
  client_->send_raw(half, std::string("\0\0\0\1\0x", 6));
  EXPECT_EQ(client_->wait(silent).status(), kDeadline);
  EXPECT_EQ(client_->wait(half).status(), kDeadline);
  client_->half_close(idle);
  EXPECT_EQ(client_->wait(idle).status(), kOk);  // a stream may be silent between its messages
}

TEST_F(GrpcApi, MetadataBeyondTheLimitIsRefused) {
  start();
  std::string answer;
  EXPECT_EQ(client_->ask("ServerLive", "", answer, TestClient::Fields(2000, {"a", "b"})).status(), kExhausted);
  EXPECT_EQ(client_->ask("ServerLive", "", answer, TestClient::Fields(1800, {"a", "b"})).status(), kOk);
}

TEST_F(GrpcApi, ARequestWhoseDeadlinePassesOrThatIsCancelledLeavesTheQueue) {
  start();
  EXPECT_EQ(infer(request_for("slow"), {{"grpc-timeout", "50m"}}), kDeadline);
  await_waiting(0);
  const int32_t cancelled = client_->start("ModelStreamInfer");
  for (int i = 0; i < 3; ++i) client_->send(cancelled, request_for("slow"));
  await_waiting(3);
  client_->cancel(cancelled);
  await_waiting(0);
}

TEST_F(GrpcApi, AStreamAnswersInOrderWhateverIsSlow) {
  start();
  const int32_t open = client_->start("ModelStreamInfer");
  const std::vector<std::string> models = {"slow", "echo", "nope", "slow", "echo"};
  for (size_t i = 0; i < models.size(); ++i) client_->send(open, request_for(models[i], 2, std::to_string(i)));
  client_->half_close(open);
  await_waiting(2);
  service_.release();
  for (size_t i = 0; i < models.size(); ++i) {
    bool failed = false;
    ASSERT_EQ(next_id(open, failed), std::to_string(i));
    EXPECT_EQ(failed, models[i] == "nope");
  }
  EXPECT_EQ(client_->wait(open).status(), kOk);
}

TEST_F(GrpcApi, AStreamReadsOnlySoFarAhead) {
  start();
  const int32_t open = client_->start("ModelStreamInfer");
  constexpr int kAll = 200;
  for (int i = 0; i < kAll; ++i) client_->send(open, request_for("slow", 2, std::to_string(i)));
  client_->half_close(open);
  await_waiting(64);
  std::jthread releaser([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      EXPECT_LE(service_.waiting(), 64u);
      service_.release();
      std::this_thread::yield();
    }
  });
  for (int i = 0; i < kAll; ++i) {
    bool failed = true;
    ASSERT_EQ(next_id(open, failed), std::to_string(i));
  }
  EXPECT_EQ(client_->wait(open).status(), kOk);
}

TEST_F(GrpcApi, AtItsEndFinishesCallsAndEndsIdleStreams) {
  start();
  const int32_t idle = client_->start("ModelStreamInfer");
  client_->send(idle, request_for("echo"));
  bool failed = true;
  ASSERT_EQ(next_id(idle, failed), "id");
  const int32_t running = infer_slowly();
  server_->begin_drain();
  EXPECT_EQ(client_->wait(idle).status(), kUnavailable);
  EXPECT_FALSE(server_->drain(100ms));
  service_.release();
  EXPECT_EQ(client_->wait(running).status(), kOk);
  EXPECT_TRUE(client_->at_end());
  client_.reset();
  EXPECT_TRUE(server_->drain(30s));
}

TEST_F(GrpcApi, ACallThatSendsNoRequestDoesNotDelayTheEnd) {
  start({}, {.drain_timeout = 200ms});
  const int32_t silent = client_->start("ModelInfer");
  ASSERT_EQ(infer(request_for("echo")), kOk);  // on the same connection: the call has arrived
  server_->begin_drain();
  EXPECT_NE(client_->wait(silent).status(), kOk);
  EXPECT_TRUE(server_->drain(30s));
}

TEST_F(GrpcApi, AClientThatIsToldToEndKeepsItsCalls) {
  start();
  const int32_t running = infer_slowly();
  server_->retire();
  service_.release();
  EXPECT_EQ(client_->wait(running).status(), kOk);
  EXPECT_TRUE(client_->at_end());
  client_ = std::make_unique<TestClient>(server_->port());
  EXPECT_EQ(infer(request_for("echo")), kOk);
}

TEST_F(GrpcApi, SurvivesAnswersToClientsAndServersThatHaveGone) {
  start();
  const int32_t first = infer_slowly(), second = infer_slowly();
  const int32_t open = client_->start("ModelStreamInfer");
  client_->send(open, request_for("slow"));
  await_waiting(3);
  server_.reset();
  EXPECT_NE(client_->wait(first).status(), kOk);
  EXPECT_NE(client_->wait(second).status(), kOk);
  EXPECT_NE(client_->wait(open).status(), kOk);
  service_.release();
}

TEST_F(GrpcApi, AClientThatResetsItsStreamsAtOnceIsCutOff) {
  start();
  for (int i = 0; i < 50'000 && client_->is_open(); ++i) client_->cancel(client_->start("ModelInfer"));
  EXPECT_TRUE(client_->at_end());
  client_ = std::make_unique<TestClient>(server_->port());
  EXPECT_EQ(infer(request_for("echo")), kOk);
}

TEST_F(GrpcApi, ConnectionsOfAnAddressAreLimited) {
  start({}, {.max_connections_per_address = 1});
  ASSERT_EQ(infer(request_for("echo")), kOk);
  EXPECT_TRUE(TestClient(server_->port()).at_end());
  EXPECT_EQ(infer(request_for("echo")), kOk);
}

}  // namespace
}  // namespace ridge::front::grpc
