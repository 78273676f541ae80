// Answers that are sent as they come.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <thread>

#include "base/fake_clock.h"
#include "front/http/test_client.h"
#include "front/http/test_mirror.h"

namespace ridge::front::http {
namespace {

using std::chrono::milliseconds;

// Answers "/stream" by a stream that the test writes to, everything else as Mirror.
class Streaming final : public Handler {
 public:
  SizeLimit body_limit(const Request&) override { return SizeLimit{1000, "--small"}; }
  void handle(const Request& request, Responder responder) override {
    Response response;
    response.content_type = "text/plain";
    if (!request.target.starts_with("/stream")) {
      response.text = request.target;
      return responder.send(std::move(response));
    }
    response.stream = std::make_shared<AnswerStream>("~");
    MutexLock lock(mutex_);
    stream_ = response.stream;
    client_ = request.client;
    responder.send(std::move(response));
  }
  void ended(const Request& request, const Outcome& outcome) override {
    if (!request.target.starts_with("/stream")) return;
    MutexLock lock(mutex_);
    outcome_ = outcome;
  }

  std::shared_ptr<AnswerStream> await_stream() {
    while (true) {
      MutexLock lock(mutex_);
      if (stream_) return stream_;
    }
  }
  bool client_has_left() {
    MutexLock lock(mutex_);
    return client_.stop_requested();
  }
  std::optional<Outcome> outcome() {
    MutexLock lock(mutex_);
    return outcome_;
  }

 private:
  Mutex mutex_;
  std::shared_ptr<AnswerStream> stream_ RIDGE_GUARDED_BY(mutex_);
  std::stop_token client_ RIDGE_GUARDED_BY(mutex_);
  std::optional<Outcome> outcome_ RIDGE_GUARDED_BY(mutex_);
};

struct StreamServer {
  explicit StreamServer(ServerOptions options = {}) {
    options.listen = {"127.0.0.1", 0};
    auto started = Server::start(std::move(options), handler);
    EXPECT_TRUE(started);
    server = std::move(*started);
  }
  std::shared_ptr<Streaming> handler = std::make_shared<Streaming>();
  std::unique_ptr<Server> server;
};

TEST(HttpStream, SendsEachPieceAtOnceAndKeepsTheConnection) {
  StreamServer at;
  TestClient client(at.server->port());
  client.send(get("/stream"));
  const auto stream = at.handler->await_stream();
  std::optional<ClientResponse> head = client.read(true);
  ASSERT_TRUE(head);
  EXPECT_EQ(head->fields["transfer-encoding"], "chunked");
  EXPECT_EQ(head->fields["cache-control"], "no-cache");
  EXPECT_FALSE(head->fields.contains("content-length"));
  for (const char* piece : {"one", "two", "three"}) {
    EXPECT_TRUE(stream->write(piece));
    EXPECT_EQ(client.read_chunk(), piece);  // before the next is written
  }
  stream->end();
  EXPECT_EQ(client.read_chunk(), "");
  EXPECT_EQ(client.ask(get("/next"))->body, "/next");
  EXPECT_EQ(at.handler->outcome()->status, 200);
  // Chunks of 3, 3 and 5 bytes, each with its length and two line ends, and the last chunk.
  EXPECT_EQ(at.handler->outcome()->bytes_out, 8U + 8U + 10U + 5U);
}

TEST(HttpStream, RequestsBehindItWaitForItsEnd) {
  StreamServer at;
  TestClient client(at.server->port());
  client.send(get("/stream") + get("/b") + get("/c"));
  const auto stream = at.handler->await_stream();
  ASSERT_TRUE(client.read(true));
  stream->write("x");
  EXPECT_EQ(client.read_chunk(), "x");
  EXPECT_FALSE(client.readable());
  stream->end();
  EXPECT_EQ(client.read_chunk(), "");
  EXPECT_EQ(client.read()->body, "/b");
  EXPECT_EQ(client.read()->body, "/c");
}

TEST(HttpStream, OfHttp10EndsWithTheConnection) {
  StreamServer at;
  TestClient client(at.server->port());
  client.send("GET /stream HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  const auto stream = at.handler->await_stream();
  std::optional<ClientResponse> head = client.read(true);
  ASSERT_TRUE(head);
  EXPECT_EQ(head->fields["connection"], "close");
  EXPECT_FALSE(head->fields.contains("transfer-encoding"));
  stream->write("ab");
  stream->write("cd");
  stream->end();
  EXPECT_EQ(client.read_to_end(), "abcd");
}

TEST(HttpStream, ToHeadHasNoBody) {
  StreamServer at;
  TestClient client(at.server->port());
  client.send("HEAD /stream HTTP/1.1\r\nHost: t\r\n\r\n");
  const auto stream = at.handler->await_stream();
  ASSERT_TRUE(client.read(true));
  EXPECT_EQ(client.ask(get("/next"))->body, "/next");
  EXPECT_FALSE(stream->write("x"));
}

TEST(HttpStream, OfAClientThatLeftIsOfNoUse) {
  StreamServer at;
  TestClient client(at.server->port());
  client.send(get("/stream"));
  const auto stream = at.handler->await_stream();
  stream->write("one");
  ASSERT_TRUE(client.read(true));
  EXPECT_EQ(client.read_chunk(), "one");
  client.close();
  while (stream->write("more")) std::this_thread::yield();  // the first writes find a connection that looks whole
  while (!at.handler->client_has_left()) std::this_thread::yield();
  EXPECT_EQ(at.handler->outcome()->status, kClientLeft);
}

// Nothing is written that would show it.
TEST(HttpStream, AClientThatLeavesWhileItIsSilentIsNoticed) {
  FakeClock clock;
  StreamServer at({.clock = &clock});
  TestClient client(at.server->port());
  client.send(get("/stream"));
  const auto stream = at.handler->await_stream();
  ASSERT_TRUE(client.read(true));
  EXPECT_FALSE(at.handler->client_has_left());
  client.close();
  while (!at.handler->client_has_left()) {
    clock.advance(milliseconds(200));
    std::this_thread::yield();
  }
  EXPECT_FALSE(stream->write("x"));
}

TEST(HttpStream, AClientThatOnlyEndedItsSendingGetsTheRest) {
  FakeClock clock;
  StreamServer at({.clock = &clock});
  TestClient client(at.server->port());
  client.send(get("/stream"));
  client.finish_sending();
  const auto stream = at.handler->await_stream();
  ASSERT_TRUE(client.read(true));
  while (!client.readable()) {
    clock.advance(milliseconds(200));
    std::this_thread::yield();
  }
  EXPECT_EQ(client.read_chunk()->front(), '~');
  EXPECT_TRUE(stream->write("rest"));
  stream->end();
  const std::optional<std::string> rest = client.read_chunks();
  ASSERT_TRUE(rest);
  EXPECT_TRUE(rest->ends_with("rest")) << *rest;
}

TEST(HttpStream, AClientThatDoesNotReadIsGivenUpAndNeverWaitedFor) {
  StreamServer at;
  TestClient client(at.server->port(), 4096);
  client.send(get("/stream"));
  const auto stream = at.handler->await_stream();
  const std::string piece(64 * 1024, 'x');
  size_t written = 0;
  while (stream->write(piece)) ASSERT_LT(written += piece.size(), size_t{1} << 30);
  while (!at.handler->client_has_left()) std::this_thread::yield();
  EXPECT_FALSE(stream->write("x"));
}

TEST(HttpStream, AClientThatStopsReadingIsClosedWhenItsTimeIsOver) {
  FakeClock clock;
  StreamServer at({.stall_timeout = milliseconds(1000), .clock = &clock});
  TestClient client(at.server->port(), 4096);
  client.send(get("/stream"));
  const auto stream = at.handler->await_stream();
  const std::string piece(AnswerStream::kMostWaiting / 2, 'x');
  for (int i = 0; i < 40; ++i) {  // more than the sockets hold, and less than gives it up
    if (!stream->write(piece)) break;
    std::this_thread::sleep_for(milliseconds(5));
  }
  for (int i = 0; i < 1000 && !at.handler->client_has_left(); ++i) {
    clock.advance(milliseconds(500));
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_TRUE(at.handler->client_has_left());
}

TEST(HttpStream, ByteByByteReadersGetAllOfIt) {
  StreamServer at;
  TestClient client(at.server->port(), 1);
  client.send(get("/stream"));
  const auto stream = at.handler->await_stream();
  std::string expected;
  std::jthread writer([&] {
    for (int i = 0; i < 2000; ++i) {
      const std::string piece = std::to_string(i) + "\r\n";
      expected += piece;
      stream->write(piece);
    }
    stream->end();
  });
  ASSERT_TRUE(client.read(true));
  const std::optional<std::string> body = client.read_chunks();
  writer.join();
  EXPECT_EQ(body, expected);
}

TEST(HttpStream, SilenceOfTheServerEndsNothing) {
  FakeClock clock;
  StreamServer at({.idle_timeout = milliseconds(100), .stall_timeout = milliseconds(100), .clock = &clock});
  TestClient client(at.server->port());
  client.send(get("/stream"));
  const auto stream = at.handler->await_stream();
  ASSERT_TRUE(client.read(true));
  for (int i = 0; i < 20; ++i) {
    clock.advance(std::chrono::minutes(1));
    std::this_thread::sleep_for(milliseconds(1));
  }
  EXPECT_TRUE(stream->write("x"));
  EXPECT_EQ(client.read_chunk(), "x");
}

TEST(HttpStream, DrainLetsItFinish) {
  StreamServer at;
  TestClient client(at.server->port());
  client.send(get("/stream"));
  const auto stream = at.handler->await_stream();
  ASSERT_TRUE(client.read(true));
  std::jthread drain([&] { EXPECT_TRUE(at.server->drain(std::chrono::minutes(1))); });
  while (TestClient(at.server->port()).connected()) std::this_thread::yield();
  EXPECT_TRUE(stream->write("last"));
  stream->end();
  EXPECT_EQ(client.read_chunks(), "last");
  EXPECT_TRUE(client.at_end());
}

TEST(HttpStream, IsOfNoUseWhenTheServerIsGone) {
  StreamServer at;
  TestClient client(at.server->port());
  client.send(get("/stream"));
  const auto stream = at.handler->await_stream();
  ASSERT_TRUE(client.read(true));
  at.server.reset();
  EXPECT_FALSE(stream->write("x"));
  stream->end();
  EXPECT_TRUE(client.at_end());
}

}  // namespace
}  // namespace ridge::front::http
