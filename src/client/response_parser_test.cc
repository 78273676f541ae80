#include "client/response_parser.h"

#include <gtest/gtest.h>

namespace ridge::client {
namespace {

using Event = ResponseParser::Event;

// Feeds `bytes` in pieces of `piece`, as a connection does; the rest behind the first response stays in `bytes`.
Event feed(ResponseParser& parser, std::string& bytes, size_t piece) {
  std::string pending;
  while (!bytes.empty()) {
    pending += bytes.substr(0, piece);
    bytes.erase(0, piece);
    const ResponseParser::Step step = parser.feed(pending);
    pending.erase(0, step.consumed);
    if (step.event == Event::kNeedMore) continue;
    bytes.insert(0, pending);
    return step.event;
  }
  return Event::kNeedMore;
}

constexpr const char* kOk =
    "HTTP/1.1 200 OK\r\nContent-Length: 10\r\ninference-header-content-length: 4\r\n\r\n{}  abcdef";

TEST(ResponseParser, ReadsResponsesInAnyPieces) {
  for (size_t piece : {1u, 2u, 7u, 1000u}) {
    ResponseParser parser({.ok = 100});
    std::string bytes = std::string(kOk) + kOk;
    for (int i = 0; i < 2; ++i) {
      parser.reset();
      ASSERT_EQ(feed(parser, bytes, piece), Event::kDone) << piece;
      EXPECT_EQ(parser.response().status, 200);
      EXPECT_EQ(parser.response().json_size, 4u);
      EXPECT_EQ(parser.response().body, "{}  abcdef");
      EXPECT_TRUE(parser.response().keep_alive);
    }
    EXPECT_EQ(bytes, "");
  }
}

TEST(ResponseParser, KeepsTheBeginningOfABodyAndCountsAllOfIt) {
  ResponseParser parser({.ok = 3, .other = 5});
  std::string bytes = std::string(kOk) + "HTTP/1.1 503 Busy\r\nContent-Length: 8\r\n\r\nerrorxyz";
  ASSERT_EQ(feed(parser, bytes, 1000), Event::kDone);
  EXPECT_EQ(parser.response().body, "{} ");
  EXPECT_EQ(parser.response().body_size, 10u);
  parser.reset();
  ASSERT_EQ(feed(parser, bytes, 1000), Event::kDone);
  EXPECT_EQ(parser.response().status, 503);
  EXPECT_EQ(parser.response().body, "error");
}

TEST(ResponseParser, ReadsChunksAndAnEmptyBody) {
  for (size_t piece : {1u, 5u, 1000u}) {
    ResponseParser parser({.ok = 100});
    std::string bytes =
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nT: 1\r\n\r\n"
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    ASSERT_EQ(feed(parser, bytes, piece), Event::kDone) << piece;
    EXPECT_EQ(parser.response().body, "abcde");
    EXPECT_FALSE(parser.response().json_size);
    parser.reset();
    ASSERT_EQ(feed(parser, bytes, piece), Event::kDone) << piece;
    EXPECT_EQ(parser.response().body_size, 0u);
    EXPECT_FALSE(parser.response().keep_alive);
  }
}

TEST(ResponseParser, ReadsAnEmptyChunkedBodyInAnyPieces) {
  for (size_t piece = 1; piece < 60; ++piece) {
    ResponseParser parser({.ok = 100});
    std::string bytes = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    ASSERT_EQ(feed(parser, bytes, piece), Event::kDone) << piece;
    EXPECT_EQ(parser.response().body_size, 0u);
    EXPECT_TRUE(parser.response().keep_alive);
  }
}

TEST(ResponseParser, PassesOverInterimResponses) {
  ResponseParser parser({.ok = 100});
  std::string bytes = std::string("HTTP/1.1 100 Continue\r\n\r\n") + kOk;
  ASSERT_EQ(feed(parser, bytes, 1000), Event::kDone);
  EXPECT_EQ(parser.response().status, 200);
}

TEST(ResponseParser, TheEndOfAConnectionEndsABodyWithoutLengthAndCutsOthers) {
  ResponseParser parser({.ok = 100});
  std::string bytes = "HTTP/1.1 200 OK\r\n\r\nabc";
  EXPECT_EQ(feed(parser, bytes, 1000), Event::kNeedMore);
  EXPECT_EQ(parser.end(), Event::kDone);
  EXPECT_EQ(parser.response().body, "abc");
  EXPECT_FALSE(parser.response().keep_alive);
  parser.reset();
  bytes = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc";
  EXPECT_EQ(feed(parser, bytes, 1000), Event::kNeedMore);
  EXPECT_EQ(parser.end(), Event::kBad);
  parser.reset();
  EXPECT_EQ(parser.end(), Event::kBad) << "not a byte of it came";
}

TEST(ResponseParser, WhatIsNoHttpIsBad) {
  for (std::string bytes : {std::string("SSH-2.0-OpenSSH_9.2\r\n\r\n"), std::string("\x15\x03\x01\x02\x16\r\n\r\n"),
                            "HTTP/1.1 200 OK\r\nX: " + std::string(100000, 'x'),
                            std::string("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")}) {
    ResponseParser parser({});
    EXPECT_EQ(feed(parser, bytes, 100000000), Event::kBad);
  }
}

}  // namespace
}  // namespace ridge::client
