#include "front/grpc/server.h"

#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/impl/codegen/client_unary_call.h>
#include <grpcpp/impl/codegen/proto_utils.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>
#include <grpcpp/support/sync_stream.h>
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "front/fake_service.h"
#include "grpc_service.pb.h"

namespace ridge::front::grpc {
namespace {

using namespace std::chrono_literals;
using ::grpc::StatusCode;
using ::grpc::internal::RpcMethod;
using Stream = ::grpc::ClientReaderWriter<inference::ModelInferRequest, inference::ModelStreamInferResponse>;

class GrpcServer : public testing::Test {
 protected:
  void start(ServerOptions options = {}) {
    options.listen.address = "127.0.0.1";
    options.listen.port = 0;
    Result<std::unique_ptr<Server>> server = Server::start(std::move(options), service_, threads_);
    ASSERT_TRUE(server) << server.error().message;
    server_ = std::move(*server);
    ::grpc::ChannelArguments own;
    own.SetInt("grpc.use_local_subchannel_pool", 1);
    channel_ = ::grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(server_->port()),
                                           ::grpc::InsecureChannelCredentials(), own);
  }

  static inference::ModelInferRequest request_for(const std::string& model, size_t floats = 2) {
    inference::ModelInferRequest request;
    request.set_model_name(model);
    request.set_id("id");
    auto* input = request.add_inputs();
    input->set_name("x");
    input->set_datatype("FP32");
    input->add_shape(static_cast<int64_t>(floats));
    request.add_raw_input_contents(std::string(floats * sizeof(float), 'x'));
    return request;
  }
  template <typename Request, typename Response>
  ::grpc::Status call(const char* method, const Request& request, Response& response,
                      std::chrono::milliseconds limit = 60s) {
    ::grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + limit);
    const std::string path = std::string("/inference.GRPCInferenceService/") + method;
    return ::grpc::internal::BlockingUnaryCall(channel_.get(), RpcMethod(path.c_str(), RpcMethod::NORMAL_RPC), &context,
                                               request, &response);
  }
  ::grpc::Status infer(const inference::ModelInferRequest& request, std::chrono::milliseconds limit = 60s) {
    return call("ModelInfer", request, answer_, limit);
  }
  std::future<::grpc::Status> infer_slowly() {
    const int before = static_cast<int>(service_.waiting());
    auto status = std::async(std::launch::async, [this] {
      inference::ModelInferResponse answer;
      return call("ModelInfer", request_for("slow"), answer);
    });
    while (static_cast<int>(service_.waiting()) == before) std::this_thread::yield();
    return status;
  }
  std::unique_ptr<Stream> stream(::grpc::ClientContext& context) {
    context.set_deadline(std::chrono::system_clock::now() + 60s);
    static const RpcMethod method("/inference.GRPCInferenceService/ModelStreamInfer", RpcMethod::BIDI_STREAMING);
    return std::unique_ptr<Stream>(
        ::grpc::internal::ClientReaderWriterFactory<inference::ModelInferRequest,
                                                    inference::ModelStreamInferResponse>::Create(channel_.get(), method,
                                                                                                 &context));
  }

  FakeService service_;
  ControlThreads threads_;
  std::unique_ptr<Server> server_;
  std::shared_ptr<::grpc::Channel> channel_;
  inference::ModelInferResponse answer_;
};

TEST_F(GrpcServer, AnswersShortAndLongRequests) {
  start({.threads = 2, .memory = std::make_shared<MemoryBudget>(uint64_t{1} << 30)});
  for (size_t floats : {size_t{0}, size_t{2}, size_t{1000}, size_t{500'000}}) {
    const inference::ModelInferRequest request = request_for("echo", floats);
    ASSERT_TRUE(infer(request).ok());
    EXPECT_EQ(answer_.raw_output_contents(0), request.raw_input_contents(0));
    EXPECT_EQ(answer_.outputs(0).name(), "y");
    EXPECT_EQ(answer_.id(), "id");
  }
}

TEST_F(GrpcServer, TurnsErrorsIntoCodes) {
  start();
  EXPECT_EQ(infer(request_for("nope")).error_code(), StatusCode::NOT_FOUND);
  EXPECT_EQ(infer(request_for("full")).error_code(), StatusCode::UNAVAILABLE);
  EXPECT_EQ(infer(request_for("broken")).error_code(), StatusCode::INTERNAL);
  EXPECT_EQ(infer({}).error_code(), StatusCode::INVALID_ARGUMENT);
  const ::grpc::Status unknown = call("Nothing", inference::ServerLiveRequest(), answer_);
  EXPECT_EQ(unknown.error_code(), StatusCode::UNIMPLEMENTED);
  const ::grpc::Status long_name = infer(request_for(std::string(50'000, '\xE4')));
  EXPECT_EQ(long_name.error_code(), StatusCode::NOT_FOUND);
  EXPECT_LT(long_name.error_message().size(), 7000u);
}

TEST_F(GrpcServer, ALoadIsRefusedAtOnceWhileWarmUpsTakeAllThatMayGoOn) {
  for (const char* model : {"a", "b", "c"}) service_.warm_up_long(model);
  start();
  inference::RepositoryModelLoadRequest load;
  load.set_model_name("echo");
  inference::RepositoryModelLoadResponse loaded;
  EXPECT_TRUE(call("RepositoryModelLoad", load, loaded).ok());
  service_.warm_up_long("endless");
  const ::grpc::Status refused = call("RepositoryModelLoad", load, loaded);
  EXPECT_EQ(refused.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_NE(refused.error_message().find("'endless'"), std::string::npos) << refused.error_message();
}

TEST_F(GrpcServer, RefusesARequestForWhichNoMemoryIsLeft) {
  start({.memory = std::make_shared<MemoryBudget>(8 << 20)});
  EXPECT_EQ(infer(request_for("echo", 4'000'000)).error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(infer(request_for("echo", 1000)).ok());
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(infer(request_for("echo", 200'000)).ok()) << "memory was not given back";
}

TEST_F(GrpcServer, ARequestWhoseDeadlinePassesOrThatIsCancelledLeavesTheQueue) {
  start();
  EXPECT_EQ(infer(request_for("slow"), 50ms).error_code(), StatusCode::DEADLINE_EXCEEDED);
  while (service_.waiting() > 0) std::this_thread::yield();
  ::grpc::ClientContext context;
  const std::unique_ptr<Stream> cancelled = stream(context);
  for (int i = 0; i < 3; ++i) cancelled->Write(request_for("slow"));
  while (service_.waiting() < 3) std::this_thread::yield();
  context.TryCancel();
  while (service_.waiting() > 0) std::this_thread::yield();
  EXPECT_EQ(cancelled->Finish().error_code(), StatusCode::CANCELLED);
}

TEST_F(GrpcServer, AStreamAnswersInOrderWhateverIsSlow) {
  start();
  ::grpc::ClientContext context;
  const std::unique_ptr<Stream> open = stream(context);
  const std::vector<std::string> models = {"slow", "echo", "nope", "slow", "echo"};
  for (size_t i = 0; i < models.size(); ++i) {
    inference::ModelInferRequest request = request_for(models[i]);
    request.set_id(std::to_string(i));
    open->Write(request);
  }
  open->WritesDone();
  while (service_.waiting() < 2) std::this_thread::yield();
  service_.release();
  inference::ModelStreamInferResponse answer;
  for (size_t i = 0; i < models.size(); ++i) {
    ASSERT_TRUE(open->Read(&answer));
    EXPECT_EQ(answer.infer_response().id(), std::to_string(i));
    EXPECT_EQ(answer.error_message().empty(), models[i] != "nope");
  }
  EXPECT_FALSE(open->Read(&answer));
  EXPECT_TRUE(open->Finish().ok());
}

TEST_F(GrpcServer, AStreamReadsOnlySoFarAhead) {
  start();
  ::grpc::ClientContext context;
  const std::unique_ptr<Stream> open = stream(context);
  constexpr int kAll = 200;
  std::jthread writer([&] {
    for (int i = 0; i < kAll; ++i) open->Write(request_for("slow"));
    open->WritesDone();
  });
  while (service_.waiting() < 64) std::this_thread::yield();
  std::jthread releaser([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      EXPECT_LE(service_.waiting(), 64u);
      service_.release();
      std::this_thread::yield();
    }
  });
  inference::ModelStreamInferResponse answer;
  for (int i = 0; i < kAll; ++i) ASSERT_TRUE(open->Read(&answer));
  EXPECT_TRUE(open->Finish().ok());
}

TEST_F(GrpcServer, AtItsEndFinishesCallsAndEndsIdleStreams) {
  start();
  ::grpc::ClientContext context;
  const std::unique_ptr<Stream> idle = stream(context);
  idle->Write(request_for("echo"));
  inference::ModelStreamInferResponse answer;
  ASSERT_TRUE(idle->Read(&answer));
  std::future<::grpc::Status> running = infer_slowly();
  server_->begin_drain();
  EXPECT_FALSE(server_->wait(100ms));
  EXPECT_FALSE(idle->Read(&answer));
  EXPECT_EQ(idle->Finish().error_code(), StatusCode::UNAVAILABLE);
  service_.release();
  EXPECT_TRUE(running.get().ok());
  EXPECT_TRUE(server_->wait(30s));
}

TEST_F(GrpcServer, ACallThatSendsNoRequestDoesNotDelayTheEnd) {
  start({.drain_timeout = 200ms});
  ::grpc::ClientContext context, other;
  static const RpcMethod method("/inference.GRPCInferenceService/ModelInfer", RpcMethod::BIDI_STREAMING);
  const std::unique_ptr<::grpc::ClientReaderWriter<inference::ModelInferRequest, inference::ModelInferResponse>> silent(
      ::grpc::internal::ClientReaderWriterFactory<inference::ModelInferRequest, inference::ModelInferResponse>::Create(
          channel_.get(), method, &context));
  ASSERT_TRUE(infer(request_for("echo")).ok());  // on the same connection: the call has arrived
  server_->begin_drain();
  EXPECT_TRUE(server_->wait(30s));
  EXPECT_FALSE(silent->Finish().ok());
}

TEST_F(GrpcServer, SurvivesAnswersToClientsAndServersThatHaveGone) {
  start();
  std::future<::grpc::Status> first = infer_slowly(), second = infer_slowly();
  ::grpc::ClientContext context;
  const std::unique_ptr<Stream> open = stream(context);
  open->Write(request_for("slow"));
  while (service_.waiting() < 3) std::this_thread::yield();
  server_.reset();
  EXPECT_FALSE(first.get().ok());
  EXPECT_FALSE(second.get().ok());
  EXPECT_FALSE(open->Finish().ok());
  service_.release();
}

TEST_F(GrpcServer, SaysWhyItCannotListen) {
  start();
  const ServerOptions same{.listen = {"127.0.0.1", server_->port()}};
  Result<std::unique_ptr<Server>> second = Server::start(same, service_, threads_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kFailed);
  EXPECT_NE(second.error().message.find(std::to_string(server_->port())), std::string::npos);
  EXPECT_EQ(Server::start({.listen = {"nowhere"}}, service_, threads_).error().code, Code::kInvalid);
}

}  // namespace
}  // namespace ridge::front::grpc
