#include "client/server_target.h"

#include <gtest/gtest.h>

#include <set>

#include "client/protocol.h"
#include "client/test_server.h"

namespace ridge::client {
namespace {

using Ended = measure::AsyncTarget::Ended;

ServerTargetOptions options_for(const TestServer& server, int concurrency, int threads = 1) {
  ServerTargetOptions options;
  options.url = server.url();
  options.address = resolve(server.url().host, server.url().port).value().front();
  options.requests = std::make_shared<const std::vector<Request>>(
      std::vector<Request>{{"", http_request(server.url(), "POST", "/infer", "a")},
                           {"", http_request(server.url(), "POST", "/infer", "b")}});
  options.concurrency = concurrency;
  options.threads = threads;
  return options;
}

// Until `count` requests of thread 0 have ended.
std::vector<Ended> wait_for(ServerTarget& target, size_t count) {
  std::vector<Ended> all;
  while (all.size() < count)
    target.wait(0, SteadyClock::now() + std::chrono::milliseconds(20),
                [&](const Ended& ended) { all.push_back(ended); });
  return all;
}

TEST(ServerTarget, EveryCallerHasAConnectionThatStaysOpen) {
  TestServer server([](const std::string&, int) { return Reply{answer(200, "12345")}; });
  auto target = ServerTarget::open(options_for(server, 40));
  ASSERT_TRUE(target) << target.error().message;
  for (int round = 0; round < 3; ++round) {
    for (int caller = 0; caller < 40; ++caller) (*target)->begin(caller);
    std::set<int> callers;
    for (const Ended& ended : wait_for(**target, 40)) {
      EXPECT_EQ(ended.failure, 0);
      callers.insert(ended.caller);
    }
    EXPECT_EQ(callers.size(), 40u);
  }
  EXPECT_EQ(server.connections(), 40);
  EXPECT_EQ((*target)->reconnects(), 0);
  EXPECT_EQ((*target)->answer_bytes(), 5u);
}

TEST(ServerTarget, ThreadsShareTheCallers) {
  TestServer server([](const std::string&, int) { return Reply{answer(200, "")}; });
  auto target = ServerTarget::open(options_for(server, 5, 2));
  ASSERT_TRUE(target);
  std::set<int> mine;
  for (int caller : {0, 2, 4}) (*target)->begin(caller);
  for (const Ended& ended : wait_for(**target, 3)) mine.insert(ended.caller);
  EXPECT_EQ(mine, (std::set<int>{0, 2, 4}));
}

TEST(ServerTarget, RequestsAreSentInTurn) {
  std::string bodies;
  TestServer server([&](const std::string& request, int) {
    bodies += request.back();
    return Reply{answer(200, "")};
  });
  auto target = ServerTarget::open(options_for(server, 1));
  ASSERT_TRUE(target);
  for (int i = 0; i < 4; ++i) {
    (*target)->begin(0);
    wait_for(**target, 1);
  }
  server.stop();
  EXPECT_EQ(bodies, "abab");
}

TEST(ServerTarget, FailuresHaveAKindAndTheFirstMessageIsKept) {
  TestServer server([](const std::string&, int number) {
    switch (number) {
      case 0: return Reply{answer(503, "{\"error\": \"the queue is full\"}")};
      case 1: return Reply{answer(503, "{\"error\": \"another\"}")};
      case 2: return Reply{"", true};
      case 3: return Reply{"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n12", true};
      case 4: return Reply{"nonsense\r\n\r\n"};
      default: return Reply{answer(200, "")};
    }
  });
  auto target = ServerTarget::open(options_for(server, 1));
  ASSERT_TRUE(target);
  std::vector<int> failures;
  for (int i = 0; i < 6; ++i) {
    (*target)->begin(0);
    failures.push_back(wait_for(**target, 1)[0].failure);
  }
  EXPECT_EQ(failures, (std::vector<int>{503, 503, kClosed, kClosed, kNotHttp, 0}));
  EXPECT_EQ((*target)->problems().at(503), "the queue is full");
  EXPECT_EQ((*target)->reconnects(), 3);
}

TEST(ServerTarget, AServerThatClosesAfterEachAnswerIsAskedOnNewConnections) {
  TestServer server([](const std::string&, int) { return Reply{answer(200, "", "Connection: close\r\n"), true}; });
  auto target = ServerTarget::open(options_for(server, 2));
  ASSERT_TRUE(target);
  for (int i = 0; i < 5; ++i) {
    (*target)->begin(0);
    (*target)->begin(1);
    for (const Ended& ended : wait_for(**target, 2)) EXPECT_EQ(ended.failure, 0);
  }
  EXPECT_EQ((*target)->reconnects(), 8);
}

TEST(ServerTarget, ARequestWithoutAnAnswerTimesOutAndItsCallerGoesOn) {
  TestServer server(
      [](const std::string&, int number) { return Reply{.bytes = answer(200, ""), .hold = number == 0}; });
  ServerTargetOptions options = options_for(server, 1);
  options.timeout = std::chrono::milliseconds(20);
  auto target = ServerTarget::open(std::move(options));
  ASSERT_TRUE(target);
  (*target)->begin(0);
  EXPECT_EQ(wait_for(**target, 1)[0].failure, kTimeout);
  EXPECT_FALSE((*target)->gone());
  do (*target)->begin(0);  // a busy machine may be late again
  while (wait_for(**target, 1)[0].failure == kTimeout);
  EXPECT_GT(server.connections(), 1);
}

TEST(ServerTarget, AServerThatIsGoneIsNoticed) {
  TestServer server([](const std::string&, int) { return Reply{answer(200, "")}; });
  ServerTargetOptions options = options_for(server, 1);
  options.gone_after = std::chrono::milliseconds(0);
  auto target = ServerTarget::open(std::move(options));
  ASSERT_TRUE(target);
  server.stop();
  (*target)->begin(0);
  const int first = wait_for(**target, 1)[0].failure;  // the open connection ends, or is known to have ended
  EXPECT_TRUE(first == kClosed || first == kNoConnection) << first;
  (*target)->begin(0);
  EXPECT_EQ(wait_for(**target, 1)[0].failure, kNoConnection);
  EXPECT_TRUE((*target)->gone());
  EXPECT_EQ((*target)->reconnects(), 0);  // tries that failed are none
  EXPECT_FALSE(ServerTarget::open(options_for(server, 1)));
}

TEST(ServerTarget, ARefusalBeforeTheWholeRequestWasSentIsItsStatus) {
  TestServer server([](const std::string&, int) { return Reply{answer(413, "{\"error\": \"too large\"}"), true}; },
                    1000);
  ServerTargetOptions options = options_for(server, 1);
  options.requests = std::make_shared<const std::vector<Request>>(
      std::vector<Request>{{"", http_request(server.url(), "POST", "/", std::string(32 << 20, 'x'))}});
  auto target = ServerTarget::open(std::move(options));
  ASSERT_TRUE(target);
  for (int i = 0; i < 3; ++i) {
    (*target)->begin(0);
    EXPECT_EQ(wait_for(**target, 1)[0].failure, 413) << (*target)->problems().begin()->second;
  }
}

}  // namespace
}  // namespace ridge::client
