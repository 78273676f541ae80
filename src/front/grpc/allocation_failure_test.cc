// Allocations of the server's threads fail one after the other: each costs its request or its connection, and nothing
// else.
#include <gtest/gtest.h>

#include <limits>
#include <thread>

#include "front/fake_service.h"
#include "front/fake_text_model.h"
#include "front/grpc/api.h"
#include "front/grpc/test_client.h"
#include "front/http/api.h"
#include "front/http/server.h"
#include "front/http/test_client.h"
#include "grpc_service.pb.h"
#include "serve/failing_allocations.h"

namespace ridge::front::grpc {
namespace {

constexpr int64_t kNone = std::numeric_limits<int64_t>::max() / 2;
std::atomic<int64_t> allocations_left = kNone;  // of all threads but those that are spared, until some fail
std::atomic<int64_t> fail_together = 1;
thread_local bool spared = false;

bool fails() {
  if (spared) return false;
  const int64_t left = allocations_left--;
  return left <= 0 && left > -fail_together;
}

constexpr std::chrono::milliseconds kTick{5};  // of the servers, a quarter of their shortest time
constexpr const char* kInfer =
    R"({"id":"a request","inputs":[{"name":"x","datatype":"FP32","shape":[2],"data":[1,2]}]})";
constexpr const char* kComplete = R"({"model":"m","prompt":"Hello there","max_tokens":9,"stream":true,"n":2})";

class FailingAllocations : public testing::Test {
 protected:
  FailingAllocations() {
    spared = true;
    serve::fails_now = fails;
    service_.texts = {model_};
    auto api = std::make_shared<http::Api>(service_, http::ApiOptions{.max_input_bytes = 100'000}, threads_,
                                           [](TimePoint) { return std::string(); });
    const auto start = [](std::shared_ptr<http::Port> port) {
      return std::move(*http::Server::start({.listen = {"127.0.0.1", 0}, .drain_timeout = kTick * 4}, std::move(port)));
    };
    http_ = start(api);
    ApiOptions options;
    options.io_threads = 1;
    grpc_ = start(std::make_shared<Api>(service_, options, threads_));
  }
  ~FailingAllocations() override {
    serve::fails_now = nullptr;
    spared = false;
  }

  // `answered` asks on a connection of its own, and returns whether that got the right answer.
  void let_each_fail(const std::function<bool()>& answered) {
    for (const int64_t together : {1, 5}) {
      fail_together = together;
      const int before = serve::failures;
      int refused = 0;
      for (int64_t allocation = 0; allocation < 3000; ++allocation) {
        allocations_left = allocation;
        const bool refused_now = !answered();
        const bool some_failed = allocations_left < 0;
        allocations_left = kNone;
        if (refused_now) ++refused;
        while (model_->running() > 0) std::this_thread::yield();
        ASSERT_TRUE(answered()) << "after allocation " << allocation;
        if (!some_failed && allocation > 60) break;  // they make no more
      }
      EXPECT_GT(refused, 5);
      EXPECT_GT(serve::failures - before, 20);
    }
  }

  std::shared_ptr<FakeTextModel> model_ = std::make_shared<FakeTextModel>("m");
  FakeService service_;
  ControlThreads threads_;
  std::unique_ptr<http::Server> http_, grpc_;
};

TEST_F(FailingAllocations, OfARequestOverHttp) {
  let_each_fail([&] {
    http::TestClient client(http_->port());
    const auto answer = client.ask(http::post("/v2/models/echo/infer", kInfer));
    return answer && answer->status == 200;
  });
}

TEST_F(FailingAllocations, OfACallOverGrpc) {
  inference::ModelInferRequest request;
  request.set_model_name("echo");
  auto* input = request.add_inputs();
  input->set_name("x");
  input->set_datatype("FP32");
  input->add_shape(2);
  request.add_raw_input_contents("12345678");
  const std::string message = request.SerializeAsString();
  for (const char* method : {"ModelInfer", "ModelStreamInfer"})
    let_each_fail([&] {
      TestClient client(grpc_->port());
      std::string answer;
      return client.ask(method, message, answer).status() == 0;
    });
}

// The model's thread meets them, too, as a LanguageModel does.
TEST_F(FailingAllocations, OfAStreamOfTokens) {
  std::jthread steps([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) try {
        model_->step();
        std::this_thread::yield();
      } catch (const std::bad_alloc&) {
        model_->fail({Code::kUnavailable, "out of memory"});
      }
  });
  let_each_fail([&] {
    http::TestClient client(http_->port());
    if (!client.send(http::post("/v1/completions", kComplete))) return false;
    const auto head = client.read(true);
    if (!head || head->status != 200) return false;
    const auto text = client.read_chunks();
    return text && text->ends_with("data: [DONE]\n\n") && text->find("error") == std::string::npos;
  });
}

}  // namespace
}  // namespace ridge::front::grpc
