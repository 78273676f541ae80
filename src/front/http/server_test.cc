#include "front/http/server.h"

#include <gtest/gtest.h>
#include <netinet/tcp.h>

#include <atomic>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/fake_clock.h"
#include "base/mutex.h"
#include "front/http/test_client.h"

namespace ridge::front::http {
namespace {

using std::chrono::milliseconds;

// Answers with method, target and body. Targets: "/later" answers from another thread, "/held" on request, "/forget" never
// answers, "/big" answers 16 MiB.
class Mirror final : public Handler {
 public:
  SizeLimit body_limit(const Request& head) override {
    return head.target == "/small" ? SizeLimit{1000, "--small"} : SizeLimit{uint64_t{1} << 30};
  }
  void handle(const Request& request, Responder responder) override {
    if (request.target == "/forget") return;
    Response response;
    response.text = std::string(request.target) + "|";
    if (request.body) {
      response.blobs.push_back(request.body->bytes());
      response.owners.push_back(request.body);
    }
    if (request.target == "/big") response.text = std::string(size_t{16} << 20, 'x');
    if (request.target == "/held") {
      MutexLock lock(mutex_);
      held_client_ = request.client;
      held_.emplace(std::move(responder), std::move(response));
      return;
    }
    if (request.target != "/later") return responder.send(std::move(response));
    MutexLock lock(mutex_);
    threads_.emplace_back([responder = std::move(responder), response = std::move(response)]() mutable {
      responder.send(std::move(response));
    });
  }

  void clients_left() override { left_ = true; }
  bool clients_have_left() const { return left_; }

  // Waits for `count` answers of "/later".
  void await_later(size_t count) {
    std::vector<std::jthread> threads;
    while (threads.size() < count) {
      MutexLock lock(mutex_);
      for (std::jthread& thread : threads_) threads.push_back(std::move(thread));
      threads_.clear();
    }
  }

  bool holds() {
    MutexLock lock(mutex_);
    return held_.has_value();
  }
  bool held_client_has_left() {
    MutexLock lock(mutex_);
    return held_client_.stop_requested();
  }
  void let_go() {
    MutexLock lock(mutex_);
    held_->first.send(std::move(held_->second));
    held_.reset();
  }

 private:
  std::atomic<bool> left_ = false;
  Mutex mutex_;
  std::stop_token held_client_ RIDGE_GUARDED_BY(mutex_);
  std::optional<std::pair<Responder, Response>> held_ RIDGE_GUARDED_BY(mutex_);
  std::vector<std::jthread> threads_ RIDGE_GUARDED_BY(mutex_);
};

std::unique_ptr<Server> start(ServerOptions options = {}, std::shared_ptr<Mirror> mirror = std::make_shared<Mirror>()) {
  options.listen.address = "127.0.0.1";
  options.listen.port = 0;
  auto server = Server::start(options, std::move(mirror));
  if (!server) ADD_FAILURE() << server.error().message;
  return std::move(*server);
}

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

TEST(HttpServer, SendsContinueAtOnce) {
  auto server = start();
  TestClient client(server->port());
  client.send("POST /e HTTP/1.1\r\nHost: t\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n");
  EXPECT_EQ(client.read()->status, 100);
  EXPECT_EQ(client.ask("body")->body, "/e|body");
}

TEST(BodyPool, FreesWhatWasNotUsedForAWhile) {
  const auto budget = std::make_shared<MemoryBudget>(uint64_t{3} << 20);
  BodyPool pool(budget);
  const std::vector<std::byte> large(size_t{2} << 20);
  const auto use = [&] {
    const std::shared_ptr<Body> body = pool.take();
    body->start(0);
    body->append(large);
  };
  use();
  pool.tidy();
  EXPECT_FALSE(budget->take(uint64_t{2} << 20)) << "kept: it was used";
  pool.tidy();
  EXPECT_TRUE(budget->take(uint64_t{2} << 20));
}

TEST(HttpServer, AlignsTheFirstTensorOfABody) {
  Body body;
  for (size_t header : {0u, 1u, 63u, 64u, 165u}) {
    body.start(header);
    body.append(std::as_bytes(std::span("0123456789", 10)));
    EXPECT_EQ((reinterpret_cast<uintptr_t>(body.data()) + header) % Body::kAlignment, 0u);
  }
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
  mirror->let_go();  // reaches nobody
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
  EXPECT_EQ(client.ask(get("/forget"))->status, 500);
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

TEST(HttpServer, RefusesABodyForWhichNoMemoryIsLeft) {
  auto server = start({.threads = 2, .memory = std::make_shared<MemoryBudget>(2 << 20)});
  TestClient large(server->port()), small(server->port());
  large.send("POST /x HTTP/1.1\r\nHost: t\r\nContent-Length: 5000000\r\n\r\nabc");
  auto refused = large.read();
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 503);
  EXPECT_EQ(small.ask(post("/y", "abc"))->body, "/y|abc");
}

TEST(MemoryBudget, IsSharedByBodiesAndGivenBack) {
  const auto budget = std::make_shared<MemoryBudget>(8 << 20);
  const std::vector<std::byte> bytes(3 << 20);
  Body first(budget);
  first.start(0);
  first.append(bytes);
  {
    Body second(budget);
    second.start(0);
    EXPECT_THROW(for (int i = 0; i < 3; ++i) second.append(bytes), std::bad_alloc);
  }
  for (int i = 0; i < 2; ++i) {
    Body again(budget);
    again.start(0);
    again.append(bytes);
    EXPECT_EQ(again.size(), bytes.size());
  }
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
