// Tests what a server refuses, and which connections it ends: limits of connections, bodies, memory and time.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/fake_clock.h"
#include "front/http/test_client.h"
#include "front/http/test_mirror.h"

namespace ridge::front::http {
namespace {

using std::chrono::milliseconds;

TEST(HttpServer, AConnectionBeyondTheLimitIsAnswered503UntilAnotherCloses) {
  ServerOptions options;
  options.max_connections = 2;
  options.threads = 2;
  auto server = start(options);
  auto first = std::make_unique<TestClient>(server->port());
  TestClient second(server->port());
  ASSERT_EQ(first->ask(get("/a"))->status, 200);
  ASSERT_EQ(second.ask(get("/a"))->status, 200);
  TestClient refused(server->port());
  const std::optional<ClientResponse> answer = refused.read();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 503);
  EXPECT_EQ(answer->fields.at("connection"), "close");
  EXPECT_FALSE(refused.read()) << "closed";
  EXPECT_EQ(second.ask(get("/a"))->status, 200) << "others are not disturbed";
  first.reset();
  for (int status = 503; status == 503;) {  // until the server has seen the end of the first
    TestClient next(server->port());
    const std::optional<ClientResponse> again = next.ask(get("/a"));
    if (again) status = again->status;
  }
}

TEST(HttpServer, RefusesMoreConnectionsOfOneAddressThanAreAllowed) {
  ServerOptions options;
  options.max_connections_per_address = 2;
  auto server = start(options);
  std::optional<TestClient> first(std::in_place, server->port());
  TestClient second(server->port());
  ASSERT_TRUE(first->ask(get("/a")));
  ASSERT_TRUE(second.ask(get("/a")));
  TestClient third(server->port());
  EXPECT_EQ(third.read()->status, 503);
  EXPECT_TRUE(third.at_end());
  first.reset();
  while (true) {  // until the server has seen the end
    TestClient next(server->port());
    const auto answer = next.ask(get("/a"));
    if (answer && answer->status == 200) break;
  }
}

TEST(HttpServer, RefusesTlsWhereItHasNoneAtOnce) {
  auto server = start();
  TestClient client(server->port());
  const auto answer = client.ask(std::string_view("\x16\x03\x01\x02\x00\x01\x00", 7));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 400);
  EXPECT_TRUE(client.at_end());
}

struct BadRequest {
  const char* what;
  std::string bytes;
  int status;
};

TEST(HttpServer, RefusesBrokenRequestsAndCloses) {
  auto server = start();
  const std::vector<BadRequest> kCases = {
      {"letters as length", "POST / HTTP/1.1\r\nHost: t\r\nContent-Length: abc\r\n\r\n", 400},
      {"negative length", "POST / HTTP/1.1\r\nHost: t\r\nContent-Length: -1\r\n\r\n", 400},
      {"two lengths", "POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", 400},
      {"overflowing length", "POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 99999999999999999999999\r\n\r\n", 400},
      {"both framings",
       "POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
      {"both framings, other order",
       "POST / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n", 400},
      {"unknown coding", "POST / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: gzip\r\n\r\n", 501},
      {"coding before chunked", "POST / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501},
      {"garbage", "\x16\x03\x01\x02 hello there, this is not HTTP\r\n\r\n", 400},
      {"no host", "GET / HTTP/1.1\r\n\r\n", 400},
      {"two hosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400},
      {"no version", "GET /\r\n\r\n", 400},
      {"version 2", "GET / HTTP/2.0\r\n\r\n", 505},
      {"version 1.2", "GET / HTTP/1.2\r\nHost: a\r\n\r\n", 505},
      {"folded field", "GET / HTTP/1.1\r\nHost: a\r\nA: b\r\n c\r\n\r\n", 400},
      {"folded length", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\t3\r\n\r\nabc", 400},
      {"unknown expectation", "GET / HTTP/1.1\r\nHost: a\r\nExpect: tea\r\n\r\n", 417},
      {"bad chunk size", "POST / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", 400},
      {"chunk longer than it says", "POST / HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcXX", 400},
      {"endless header", "GET / HTTP/1.1\r\nHost: t\r\nA: " + std::string(70'000, 'a'), 431},
      {"vast body", "POST / HTTP/1.1\r\nHost: t\r\nContent-Length: 9000000000000000000\r\n\r\n", 413},
  };
  for (const BadRequest& bad : kCases) {
    TestClient client(server->port());
    auto response = client.ask(bad.bytes);
    ASSERT_TRUE(response) << bad.what;
    EXPECT_EQ(response->status, bad.status) << bad.what;
    EXPECT_EQ(response->fields["content-type"], "application/json") << bad.what;
    EXPECT_TRUE(response->body.starts_with("{\"error\":\"")) << bad.what << ": " << response->body;
    EXPECT_TRUE(client.at_end()) << bad.what;
  }
}

TEST(HttpServer, ReadsAndDropsBodiesOverTheLimitAndKeepsTheConnection) {
  auto server = start();
  TestClient client(server->port());
  EXPECT_EQ(client.ask(post("/small", std::string(1001, 'x')))->status, 413);
  std::string chunked = "POST /small HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n400\r\n" +
                        std::string(1024, 'x') + "\r\n0\r\n\r\n";
  EXPECT_EQ(client.ask(chunked)->status, 413);
  EXPECT_EQ(client.ask(post("/small", std::string(1000, 'x')))->status, 200);
}

TEST(HttpServer, EndsSilentAndSlowClientsAndNoOthers) {
  FakeClock clock;
  auto mirror = std::make_shared<Mirror>();
  auto server = start({.idle_timeout = milliseconds(20),
                       .head_timeout = milliseconds(20),
                       .stall_timeout = milliseconds(20),
                       .clock = &clock},
                      mirror);
  TestClient silent(server->port()), slow_head(server->port()), slow_body(server->port()), waiting(server->port());
  TestClient never_reads(server->port(), 4096), polite(server->port());
  EXPECT_EQ(silent.ask(get("/a"))->body, "/a|");
  slow_head.send("GET / HT");
  slow_body.send("POST / HTTP/1.1\r\nHost: t\r\nExpect: 100-continue\r\nContent-Length: 10\r\n\r\n");
  EXPECT_EQ(slow_body.read()->status, 100);
  slow_body.send("abc");
  never_reads.send(get("/big"));
  while (!never_reads.readable()) std::this_thread::yield();
  waiting.send(get("/held"));
  while (!mirror->holds()) std::this_thread::yield();
  EXPECT_EQ(polite.ask(get("/a"))->body, "/a|") << "no time has passed";
  clock.advance(milliseconds(21));  // the three bytes of the body have earned some
  EXPECT_TRUE(silent.at_end());
  EXPECT_EQ(slow_head.read().value_or(ClientResponse{}).status, 408);
  EXPECT_TRUE(slow_head.at_end());
  EXPECT_EQ(slow_body.read().value_or(ClientResponse{}).status, 408);
  EXPECT_TRUE(slow_body.at_end());
  EXPECT_FALSE(never_reads.read());  // cut off in the middle of its answer
  mirror->let_go();
  EXPECT_EQ(waiting.read().value_or(ClientResponse{}).body, "/held|") << "the server's own work has no deadline";
}

TEST(HttpServer, HoldsAThousandIdleConnections) {
  auto server = start({.threads = 2});
  std::vector<std::unique_ptr<TestClient>> idle;
  for (int i = 0; i < 1000; ++i) {
    idle.push_back(std::make_unique<TestClient>(server->port()));
    ASSERT_TRUE(idle.back()->connected()) << i;
  }
  TestClient client(server->port());
  EXPECT_EQ(client.ask(get("/a"))->body, "/a|");
  EXPECT_EQ(idle.front()->ask(get("/a"))->body, "/a|");
  EXPECT_EQ(idle.back()->ask(get("/a"))->body, "/a|");
  EXPECT_TRUE(server->drain(std::chrono::minutes(1)))
      << "idle ones are closed at once, not when their ten minutes are over";
}

TEST(HttpServer, RefusesABodyForWhichNoMemoryIsLeft) {
  auto server = start({.threads = 2, .memory = std::make_shared<MemoryBudget>(2 << 20)});
  TestClient large(server->port()), small(server->port());
  large.send("POST /x HTTP/1.1\r\nHost: t\r\nContent-Length: 5000000\r\n\r\nabc");
  auto refused = large.read();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 503);
  EXPECT_EQ(small.ask(post("/y", "abc"))->body, "/y|abc");
}

}  // namespace
}  // namespace ridge::front::http
