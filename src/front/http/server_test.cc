#include "front/http/server.h"

#include <gtest/gtest.h>
#include <netinet/tcp.h>

#include <atomic>
#include <thread>
#include <vector>

#include "base/fake_clock.h"
#include "front/http/test_client.h"
#include "front/http/test_mirror.h"

namespace ridge::front::http {
namespace {

using std::chrono::milliseconds;

TEST(HttpServer, AnswersAndKeepsTheConnection) {
  auto server = start();
  TestClient client(server->port());
  for (int i = 0; i < 3; ++i) {
    auto response = client.ask(post("/a", "body"));
    ASSERT_TRUE(response);
    EXPECT_EQ(response->status, 200);
    EXPECT_EQ(response->body, "/a|body");
    EXPECT_EQ(response->fields["content-type"], "application/json");
  }
}

// The server's end of a connection is a descriptor of this process, too: the one whose peer is the client.
int server_end_of(const TestClient& client) {
  for (int descriptor = 0; descriptor < 1024; ++descriptor) {
    sockaddr_in peer{};
    socklen_t size = sizeof peer;
    if (getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer), &size) == 0 && peer.sin_port == client.own_port())
      return descriptor;
  }
  return -1;
}

TEST(HttpServer, SendsSmallAnswersAtOnce) {
  auto server = start();
  TestClient client(server->port());
  ASSERT_TRUE(client.ask(get("/a")));
  int at_once = 0;
  socklen_t size = sizeof at_once;
  ASSERT_EQ(getsockopt(server_end_of(client), IPPROTO_TCP, TCP_NODELAY, &at_once, &size), 0);
  EXPECT_EQ(at_once, 1) << "Nagle's algorithm would hold a small answer back until the last one is acknowledged";
}

TEST(HttpServer, AnswersPipelinedRequestsInOrderEvenIfTheFirstIsSlow) {
  auto server = start();
  TestClient client(server->port());
  client.send(post("/later", "1") + get("/b") + post("/c", "3") + get("/later") + get("/e"));
  for (std::string expected : {"/later|1", "/b|", "/c|3", "/later|", "/e|"}) {
    auto response = client.read();
    ASSERT_TRUE(response);
    EXPECT_EQ(response->body, expected);
  }
}

TEST(HttpServer, ReadsRequestsThatArriveByteByByte) {
  auto server = start();
  TestClient client(server->port());
  for (char c : post("/slow", "abc") + get("/next")) {
    client.send({&c, 1});
    std::this_thread::yield();
  }
  EXPECT_EQ(client.read()->body, "/slow|abc");
  EXPECT_EQ(client.read()->body, "/next|");
}

TEST(HttpServer, ReadsChunkedBodiesWithExtensionsAndTrailers) {
  auto server = start();
  TestClient client(server->port());
  std::string request =
      "POST /chunks HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3;name=value\r\nabc\r\n1\r\nd\r\nA;q=\"x\"\r\n0123456789\r\n0\r\nTrailer: yes\r\n\r\n";
  EXPECT_EQ(client.ask(request)->body, "/chunks|abcd0123456789");
  for (char c : request) client.send({&c, 1});
  EXPECT_EQ(client.read()->body, "/chunks|abcd0123456789");
  client.send(request + get("/after"));
  EXPECT_EQ(client.read()->body, "/chunks|abcd0123456789");
  EXPECT_EQ(client.read()->body, "/after|");
}

TEST(HttpServer, ReadsAnEmptyChunkedBodyThatArrivesInPieces) {
  auto server = start();
  for (size_t cut = 1; cut < 5; ++cut) {
    TestClient client(server->port());
    client.send("GET /empty HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (const std::string& piece : {std::string("0\r\n\r\n").substr(0, cut), std::string("0\r\n\r\n").substr(cut)}) {
      client.send(piece);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));  // so that the server sees two pieces
    }
    EXPECT_EQ(client.read()->body, "/empty|") << cut;
  }
}

TEST(HttpServer, ReadsOneByteChunks) {
  auto server = start();
  TestClient client(server->port());
  std::string request = "POST /c HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n", expected = "/c|";
  for (int i = 0; i < 20000; ++i) {
    request += "1\r\nx\r\n";
    expected += 'x';
  }
  EXPECT_EQ(client.ask(request + "0\r\n\r\n")->body, expected);
}

TEST(HttpServer, EchoesLargeBodiesWhole) {
  auto server = start();
  TestClient client(server->port());
  std::string body(size_t{20} << 20, '\0');
  for (size_t i = 0; i < body.size(); ++i) body[i] = static_cast<char>(i * 2654435761u >> 13);
  std::jthread sender([&] { client.send(post("/x", body)); });
  auto response = client.read();
  ASSERT_TRUE(response);
  EXPECT_TRUE(response->body == "/x|" + body);
}

TEST(HttpServer, SendsContinueAtOnce) {
  auto server = start();
  TestClient client(server->port());
  client.send("POST /e HTTP/1.1\r\nHost: t\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n");
  EXPECT_EQ(client.read()->status, 100);
  EXPECT_EQ(client.ask("body")->body, "/e|body");
}

TEST(HttpServer, ClosesWhenAskedToAndForHttp10) {
  auto server = start();
  for (std::string request : {get("/a", "Connection: close\r\n"), std::string("GET /a HTTP/1.0\r\n\r\n")}) {
    TestClient client(server->port());
    auto response = client.ask(request);
    EXPECT_EQ(response->body, "/a|");
    EXPECT_EQ(response->fields["connection"], "close");
    EXPECT_TRUE(client.at_end());
  }
  TestClient client(server->port());
  EXPECT_EQ(client.ask("GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")->fields["connection"], "keep-alive");
  EXPECT_EQ(client.ask(get("/b"))->body, "/b|");
}

TEST(HttpServer, NeverSendsABodyToHead) {
  auto server = start();
  TestClient client(server->port());
  client.send("HEAD /abc HTTP/1.1\r\nHost: t\r\n\r\n");
  auto response = client.read(true);
  EXPECT_EQ(response->status, 200);
  EXPECT_EQ(response->fields["content-length"], "5");
  EXPECT_EQ(client.ask(get("/b"))->body, "/b|");
}

TEST(HttpServer, AnswersAClientThatHasFinishedSending) {
  auto mirror = std::make_shared<Mirror>();
  auto server = start({}, mirror);
  TestClient client(server->port());
  client.send(get("/held"));
  client.finish_sending();
  while (!mirror->holds()) std::this_thread::yield();
  mirror->let_go();
  EXPECT_EQ(client.read()->body, "/held|");
  EXPECT_TRUE(client.at_end());
}

TEST(HttpServer, NoticesAClientThatLeftBeforeItsAnswer) {
  FakeClock clock;
  auto mirror = std::make_shared<Mirror>();
  auto server = start({.clock = &clock}, mirror);
  TestClient client(server->port());
  client.send(get("/held"));
  while (!mirror->holds()) std::this_thread::yield();
  EXPECT_FALSE(mirror->held_client_has_left());
  client.close();
  clock.advance(milliseconds(200));
  while (!mirror->clients_have_left()) std::this_thread::yield();
  EXPECT_TRUE(mirror->held_client_has_left());
  mirror->let_go();  // has no receiver
  TestClient next(server->port());
  EXPECT_EQ(next.ask(get("/a"))->body, "/a|");
}

// Its end of sending looks like a closed socket: it gets an interim response, and being there, the answer.
TEST(HttpServer, AClientThatOnlyEndedItsSendingIsAnsweredHoweverLongItWaits) {
  FakeClock clock;
  auto mirror = std::make_shared<Mirror>();
  auto server = start({.clock = &clock}, mirror);
  TestClient client(server->port());
  client.send(get("/held"));
  client.finish_sending();
  while (!mirror->holds()) std::this_thread::yield();
  clock.advance(milliseconds(200));
  EXPECT_EQ(client.read()->status, 100);
  mirror->let_go();
  EXPECT_EQ(client.read()->body, "/held|");
  EXPECT_TRUE(client.at_end());
  EXPECT_FALSE(mirror->clients_have_left());
}

TEST(HttpServer, AnswersARequestThatNoHandlerAnswered) {
  auto server = start();
  TestClient client(server->port());
  EXPECT_EQ(client.ask(get("/forget"))->status, 503);
}

TEST(HttpServer, OutlivesClientsThatVanish) {
  auto mirror = std::make_shared<Mirror>();
  auto server = start({}, mirror);
  for (int i = 0; i < 20; ++i) {
    TestClient(server->port()).send(get("/later"));
    TestClient(server->port()).send("POST /x HTTP/1.1\r\nHost: t\r\nContent-Length: 100\r\n\r\nabc");
    TestClient(server->port()).send(get("/big"));
  }
  TestClient client(server->port());
  EXPECT_EQ(client.ask(get("/a"))->body, "/a|");
  mirror->await_later(20);  // answers to clients that have gone
  EXPECT_EQ(client.ask(get("/a"))->body, "/a|");
}

TEST(HttpServer, SaysWhichPortIsTaken) {
  auto server = start();
  auto second = Server::start({.listen = {"127.0.0.1", server->port()}}, std::make_shared<Mirror>());
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find(std::to_string(server->port())), std::string::npos);
  EXPECT_NE(second.error().message.find("another program uses the port"), std::string::npos);
}

TEST(HttpServer, ServesManyClientsOnSeveralThreads) {
  auto server = start({.threads = 3});
  std::vector<std::jthread> clients;
  std::atomic<int> right = 0;
  for (int c = 0; c < 8; ++c)
    clients.emplace_back([&, c] {
      TestClient client(server->port());
      for (int i = 0; i < 200; ++i) {
        std::string body = std::to_string(c) + "-" + std::to_string(i);
        auto response = client.ask(post("/m", body));
        if (response && response->body == "/m|" + body) ++right;
      }
    });
  clients.clear();
  EXPECT_EQ(right, 1600);
}

}  // namespace
}  // namespace ridge::front::http
