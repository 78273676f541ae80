// A server that ends: drained, retired, out of patience.
#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "base/fake_clock.h"
#include "front/http/test_client.h"
#include "front/http/test_mirror.h"

namespace ridge::front::http {
namespace {

using std::chrono::milliseconds;

TEST(HttpServer, DrainDeliversAnswersAndClosesIdleConnectionsAtOnce) {
  auto mirror = std::make_shared<Mirror>();
  auto server = start({.threads = 2}, mirror);
  // Connections are distributed round-robin: the last is on the busy one's thread.
  TestClient idle(server->port()), busy(server->port()), third(server->port()), beside(server->port());
  for (TestClient* client : {&idle, &third, &beside}) EXPECT_EQ(client->ask(get("/a"))->body, "/a|");
  busy.send(get("/held"));
  while (!mirror->holds()) std::this_thread::yield();
  std::jthread drain([&] { EXPECT_TRUE(server->drain(std::chrono::minutes(1))); });
  EXPECT_TRUE(idle.at_end());
  EXPECT_TRUE(beside.at_end());
  mirror->let_go();
  drain.join();
  auto response = busy.read();
  ASSERT_TRUE(response);
  EXPECT_EQ(response->body, "/held|");
  EXPECT_EQ(response->fields["connection"], "close");
  EXPECT_FALSE(TestClient(server->port()).connected());
}

TEST(HttpServer, DrainWaitsAMomentForTheFirstRequestOfAConnection) {
  FakeClock clock;
  auto server = start({.threads = 1, .clock = &clock});
  TestClient late(server->port()), silent(server->port()), idle(server->port());  // accepted in this order
  EXPECT_EQ(idle.ask(get("/a"))->body, "/a|");
  std::jthread drain([&] { EXPECT_TRUE(server->drain(std::chrono::minutes(1))); });
  EXPECT_TRUE(idle.at_end());
  auto response = late.ask(get("/b"));
  ASSERT_TRUE(response);
  EXPECT_EQ(response->body, "/b|");
  EXPECT_EQ(response->fields["connection"], "close");
  clock.advance(milliseconds(250));
  EXPECT_TRUE(silent.at_end());
}

TEST(HttpServer, RetiredItAnswersAndClosesConnections) {
  auto server = start({.threads = 2});
  TestClient before(server->port());
  EXPECT_EQ(before.ask(get("/a"))->body, "/a|");
  server->retire();
  TestClient after(server->port());
  for (TestClient* client : {&before, &after}) {
    auto response = client->ask(get("/b"));
    ASSERT_TRUE(response);
    EXPECT_EQ(response->body, "/b|");
    EXPECT_EQ(response->fields["connection"], "close");
    EXPECT_TRUE(client->at_end());
  }
}

TEST(HttpServer, DrainGivesUpWhenPatienceEnds) {
  FakeClock clock;
  auto server = start({.clock = &clock});
  TestClient client(server->port());
  client.send("POST / HTTP/1.1\r\nHost: t\r\nExpect: 100-continue\r\nContent-Length: 10\r\n\r\n");
  EXPECT_EQ(client.read()->status, 100);  // the server waits for the body
  client.send("abc");
  std::jthread drain([&] { EXPECT_FALSE(server->drain(milliseconds(50))); });
  clock.await(clock.now() + milliseconds(50));
  clock.advance(milliseconds(50));
}

}  // namespace
}  // namespace ridge::front::http
