#include "front/http/infer_endpoint.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <nlohmann/json.hpp>
#include <thread>

#include "front/content_coding.h"
#include "front/fake_service.h"
#include "front/http/api.h"
#include "front/http/infer_response.h"
#include "front/http/server.h"
#include "front/http/test_client.h"

namespace ridge::front::http {
namespace {

constexpr std::string_view kSmall =
    R"({"id":"7","inputs":[{"name":"x","shape":[1,2],"datatype":"FP32","data":[1,2.5]}],"outputs":[{"name":"y"}]})";

// A service whose model "held" blocks the calling thread until the gate opens.
class HoldingService final : public FakeService {
 public:
  void infer(serve::InferRequest request, serve::InferDone done) override {
    if (request.model == "held") {
      ++held;
      open.wait(false);
      request.model = "echo";
    }
    FakeService::infer(std::move(request), std::move(done));
  }
  std::atomic<int> held = 0;
  std::atomic<bool> open = false;

  void let_go() {
    open = true;
    open.notify_all();
  }
};

// One I/O thread, so that one blocking request blocks all.
class LargeRequests : public testing::Test {
 protected:
  LargeRequests() {
    ApiOptions options{.conversion_threads = 1, .conversions_waiting = 2};
    auto server =
        Server::start({.listen = {"127.0.0.1", 0}},
                      std::make_shared<Api>(service_, options, threads_, [](TimePoint) { return std::string(); }));
    EXPECT_TRUE(server);
    server_ = std::move(*server);
  }
  ~LargeRequests() override { service_.let_go(); }

  static std::string large_json() {
    std::string data = "1";
    for (int i = 1; i < 100'000; ++i) data += ",1";
    return R"({"inputs":[{"name":"x","shape":[100000],"datatype":"UINT8","data":[)" + data + "]}]}";
  }
  void await_held(int count) const {
    while (service_.held < count) std::this_thread::yield();
  }
  void expect_small_ones_served() const {
    TestClient client(server_->port());
    EXPECT_EQ(client.ask(get("/v2/health/live")).value_or(ClientResponse{}).status, 200);
    EXPECT_EQ(client.ask(post("/v2/models/echo/infer", kSmall)).value_or(ClientResponse{}).status, 200);
  }

  HoldingService service_;
  ControlThreads threads_;
  std::unique_ptr<Server> server_;
};

TEST_F(LargeRequests, AreReadWithoutHoldingUpSmallOnes) {
  TestClient client(server_->port());
  client.send(post("/v2/models/held/infer", large_json()) + get("/v2/health/live"));
  await_held(1);
  expect_small_ones_served();
  service_.let_go();
  auto answer = client.read();
  ASSERT_TRUE(answer);
  EXPECT_EQ(nlohmann::json::parse(answer->body)["outputs"][0]["data"].size(), 100'000u);
  EXPECT_EQ(client.read()->body, "{\"live\":true}") << "a connection's answers keep their order";
}

TEST_F(LargeRequests, CountAsWhatTheyAreWhenDecoded) {
  std::string json = large_json();
  std::vector<std::span<const std::byte>> pieces{std::as_bytes(std::span(json))};
  std::string coded = encode(Coding::kGzip, pieces);
  ASSERT_LT(coded.size(), 2000u);
  TestClient client(server_->port());
  client.send(post("/v2/models/held/infer", coded, "Content-Encoding: gzip\r\n"));
  await_held(1);
  expect_small_ones_served();
  service_.let_go();
  EXPECT_EQ(client.read()->status, 200);
}

TEST_F(LargeRequests, WithManyTextsInBinaryFormAreCheckedElsewhere) {
  std::string json =
      R"({"inputs":[{"name":"x","shape":[1],"datatype":"BYTES","parameters":{"binary_data_size":2000004}}]})";
  std::string text("\x80\x84\x1e\0", 4);  // 2,000,000
  TestClient client(server_->port());
  client.send(post("/v2/models/held/infer", json + text + std::string(2'000'000, 'x'),
                   "Inference-Header-Content-Length: " + std::to_string(json.size()) + "\r\n"));
  await_held(1);
  expect_small_ones_served();
  service_.let_go();
  EXPECT_EQ(client.read()->status, 200);
}

TEST_F(LargeRequests, AreRefusedWhenTooManyWaitAndSmallOnesAreNot) {
  std::string large = post("/v2/models/held/infer", large_json());
  TestClient running(server_->port()), first(server_->port()), second(server_->port()), third(server_->port());
  running.send(large);
  await_held(1);
  // Three for two slots: the last one is refused, at once.
  first.send(large);
  second.send(large);
  third.send(large);
  while (!first.readable() && !second.readable() && !third.readable()) std::this_thread::yield();
  expect_small_ones_served();
  service_.let_go();
  int refused = 0;
  for (TestClient* client : {&first, &second, &third}) {
    auto answer = client->read();
    ASSERT_TRUE(answer);
    if (answer->status == 503) ++refused;
  }
  EXPECT_EQ(refused, 1);
  EXPECT_EQ(running.read()->status, 200);
}

TEST_F(LargeRequests, AnswersOfSmallRequestsMayBeLargeAndCoded) {
  std::string json =
      R"({"inputs":[{"name":"x","shape":[200000],"datatype":"UINT8","parameters":{"binary_data_size":200000}}]})";
  std::string field = "Inference-Header-Content-Length: " + std::to_string(json.size()) + "\r\n";
  TestClient client(server_->port());
  std::string request =
      post("/v2/models/echo/infer", json + std::string(200'000, '\1'), field + "Accept-Encoding: gzip\r\n");
  client.send(request + get("/v2/health/live"));
  auto answer = client.read();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->fields["content-encoding"], "gzip");
  Body plain;
  ASSERT_TRUE(decode(Coding::kGzip, std::as_bytes(std::span(answer->body)), {1 << 24}, plain));
  EXPECT_EQ(nlohmann::json::parse(plain.text())["outputs"][0]["data"].size(), 200'000u);
  EXPECT_EQ(client.read()->body, "{\"live\":true}");
}

TEST_F(LargeRequests, MayOutliveTheirServer) {
  TestClient client(server_->port());
  client.send(post("/v2/models/held/infer", large_json()));
  await_held(1);
  std::jthread opener([this, port = server_->port()] {
    while (TestClient(port).connected()) std::this_thread::yield();  // until the server has begun to end
    service_.let_go();
  });
  server_.reset();
  EXPECT_FALSE(client.read()) << "the answer has come too late";
}

}  // namespace
}  // namespace ridge::front::http
