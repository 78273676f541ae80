#include "client/exchange.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "client/test_server.h"

namespace ridge::client {
namespace {

constexpr auto kPatience = std::chrono::seconds(30);

TEST(Exchange, AsksOneRequestAfterAnotherOnOneConnection) {
  TestServer server([](const std::string& request, int number) {
    return Reply{answer(200, "{\"n\": " + std::to_string(number) + ", \"get\": " +
                                 (request.starts_with("GET /v2 HTTP/1.1\r\nHost: 127") ? "true" : "false") + "}")};
  });
  auto exchange = Exchange::open(server.url(), kPatience);
  ASSERT_TRUE(exchange) << exchange.error().message;
  EXPECT_TRUE(exchange->on_this_machine());
  for (int i = 0; i < 3; ++i) {
    const auto json = exchange->ask(MetadataRequest::kServer);
    ASSERT_TRUE(json) << json.error().message;
    EXPECT_EQ((*json)["n"], i);
    EXPECT_TRUE((*json)["get"]);
  }
  EXPECT_EQ(server.connections(), 1);
}

TEST(Exchange, OpensTheConnectionAgainWhereTheServerClosesIt) {
  TestServer server([](const std::string&, int number) { return Reply{number == 1 ? "" : answer(200, "{}"), true}; });
  auto exchange = Exchange::open(server.url(), kPatience);
  ASSERT_TRUE(exchange);
  ASSERT_TRUE(exchange->ask(MetadataRequest::kServer));
  const auto lost = exchange->ask(MetadataRequest::kServer);
  const auto next = exchange->ask(MetadataRequest::kServer);
  EXPECT_TRUE(next) << next.error().message;
  EXPECT_GE(server.connections(), 3);
}

TEST(Exchange, AnErrorNamesThePathTheStatusAndTheServersText) {
  TestServer server([](const std::string&, int number) {
    return Reply{number == 0 ? answer(404, "{\"error\": \"no such model\"}") : answer(502, "<html>\nbad gateway")};
  });
  auto exchange = Exchange::open(server.url(), kPatience);
  ASSERT_TRUE(exchange);
  const auto missing = exchange->ask(MetadataRequest::kModel);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kNotFound);
  EXPECT_NE(missing.error().message.find("/v2/models/m: 404 no such model"), std::string::npos)
      << missing.error().message;
  const auto gateway = exchange->ask(MetadataRequest::kServer);
  ASSERT_FALSE(gateway);
  EXPECT_NE(gateway.error().message.find("502 <html>"), std::string::npos) << gateway.error().message;
}

TEST(Exchange, ALargeRequestAndAnswerPassWhole) {
  const std::string large(3'000'000, 'x');
  TestServer server([&](const std::string& request, int) {
    return Reply{answer(200, request.substr(request.find("\r\n\r\n") + 4))};
  });
  auto exchange = Exchange::open(server.url(), kPatience);
  ASSERT_TRUE(exchange);
  const auto response = exchange->ask(Request{"", http_request(server.url(), "POST", "/", large)});
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(response->body, large);
}

TEST(Exchange, SilenceEndsWithTheTimeout) {
  TestServer server([](const std::string&, int) { return Reply{.bytes = "", .hold = true}; });
  auto exchange = Exchange::open(server.url(), std::chrono::milliseconds(20));
  ASSERT_TRUE(exchange);
  const auto silent = exchange->ask(MetadataRequest::kServer);
  ASSERT_FALSE(silent);
  EXPECT_NE(silent.error().message.find("no answer within 20 ms"), std::string::npos) << silent.error().message;
}

TEST(Exchange, AnAnswerWithoutEndEndsWithTheTimeout) {
  const std::string head = "HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\n";
  TestServer server(
      [&](const std::string&, int) { return Reply{.bytes = head + std::string(1 << 20, 'x'), .endless = true}; });
  auto exchange = Exchange::open(server.url(), std::chrono::milliseconds(100));
  ASSERT_TRUE(exchange);
  const auto endless = exchange->ask(MetadataRequest::kServer);
  ASSERT_FALSE(endless);
  EXPECT_EQ(endless.error().code, Code::kTimeout) << endless.error().message;
}

TEST(Exchange, AnAnswerThatIsNoJsonIsNoWrongUsage) {
  TestServer server([](const std::string&, int) { return Reply{answer(200, "<html>")}; });
  auto exchange = Exchange::open(server.url(), kPatience);
  ASSERT_TRUE(exchange);
  const auto page = exchange->ask(MetadataRequest::kServer);
  ASSERT_FALSE(page);
  EXPECT_EQ(page.error().code, Code::kFailed) << page.error().message;
}

TEST(Exchange, AClosedPortIsRefusedAndAStrangerIsNoHttp) {
  TestServer server([](const std::string&, int) { return Reply{"SSH-2.0\r\n"}; });
  auto exchange = Exchange::open(server.url(), kPatience);
  ASSERT_TRUE(exchange);
  EXPECT_FALSE(exchange->ask(MetadataRequest::kServer));
  server.stop();
  const auto refused = Exchange::open(server.url(), kPatience);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  EXPECT_NE(refused.error().message.find("refused"), std::string::npos) << refused.error().message;
}

}  // namespace
}  // namespace ridge::client
