#include "front/http/http2_session.h"

#include <gtest/gtest.h>

#include "front/http/test_streams.h"

namespace ridge::front::http {
namespace {

using std::string_literals::operator""s;

constexpr char kData = 0, kHead = 1, kReset = 3, kSettings = 4, kPing = 6, kContinuation = 9;

std::string frame(char kind, char flags, uint32_t stream, const std::string& payload = "") {
  std::string text;
  for (int shift : {16, 8, 0}) text += static_cast<char>(payload.size() >> shift);
  text += {kind, flags};
  for (int shift : {24, 16, 8, 0}) text += static_cast<char>(stream >> shift);
  return text + payload;
}

const std::string kGreeting = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(kSettings, 0, 0);
// :method POST, :scheme http, :path / and :authority x, by their numbers in HPACK's table.
const std::string kFields = "\x83\x86\x84\x01\x01x";

// True if the connection is over before `most` of the frames were taken.
bool ends_within(StreamsForTest& streams, const std::string& frames, int most) {
  for (int i = 0; i < most; ++i)
    if (!streams.receive(frames)) return true;
  return streams.session.over();
}

TEST(Http2Session, EchoesABodyWithinTheWindowOfItsClient) {
  StreamsForTest streams;
  ASSERT_TRUE(streams.receive(kGreeting + frame(kHead, 4, 1, kFields) + frame(kData, 1, 1, std::string(10'000, 'x'))));
  const std::string sent = streams.send();
  EXPECT_NE(sent.find(std::string(10'000, 'x')), std::string::npos);
  EXPECT_EQ(streams.session.streams(), 0u);
  EXPECT_EQ(streams.whole, 1);
}

TEST(Http2Session, AHeadThatNeverEndsEndsTheConnection) {
  const std::string endless[] = {kFields + "\0\x7f"s, kFields + "\0\x7f\x80\x80\x80\x08"s, kFields};
  const std::string more[] = {std::string(16'000, '\x80'), std::string(16'000, 'a'), ""};
  for (size_t i = 0; i < std::size(endless); ++i) {
    StreamsForTest streams;
    ASSERT_TRUE(streams.receive(kGreeting + frame(kHead, 0, 1, endless[i])));
    EXPECT_TRUE(streams.session.in_head());
    auto send_on = [&] {
      for (int count = 0; count < 20; ++count) {
        if (!streams.receive(frame(kContinuation, 0, 1, more[i]))) return true;
        streams.send();
        if (streams.session.over()) return true;
      }
      return false;
    };
    EXPECT_TRUE(send_on()) << i;
  }
}

TEST(Http2Session, FieldsThatGrowFromOneByteEachEndTheConnection) {
  StreamsForTest streams;
  const std::string field = "\x40\x01z\x7f\xa1\x1e"s + std::string(4000, 'z');  // indexed from here on
  ASSERT_TRUE(streams.receive(kGreeting + frame(kHead, 5, 1, kFields + field)));
  EXPECT_FALSE(streams.receive(frame(kHead, 5, 3, kFields + std::string(8000, '\xbe'))));
}

TEST(Http2Session, MoreFieldsThanAllowedAreRefused) {
  StreamsForTest streams;
  std::string fields = kFields;
  for (int i = 0; i < 20; ++i) fields += "\0\x01y\x7f\xa1\x1e"s + std::string(4000, 'y');
  ASSERT_TRUE(streams.receive(kGreeting));
  streams.send();
  ASSERT_TRUE(streams.receive(frame(kSettings, 1, 0) + frame(kHead, 5, 1, fields)));
  EXPECT_EQ(streams.refused, 1);
}

TEST(Http2Session, AClientThatDoesNotReadIsNotAcknowledgedForEver) {
  for (const std::string& flood : {frame(kPing, 0, 0, "12345678"), frame(kSettings, 0, 0)}) {
    StreamsForTest streams;
    ASSERT_TRUE(streams.receive(kGreeting));
    EXPECT_TRUE(ends_within(streams, flood, 2000));
  }
}

TEST(Http2Session, StreamsThatAreResetAtOnceEndTheConnection) {
  StreamsForTest streams;
  ASSERT_TRUE(streams.receive(kGreeting));
  int count = 0;
  for (uint32_t stream = 1; count < 5000 && !streams.session.over(); stream += 2, ++count) {
    streams.receive(frame(kHead, 4, stream, kFields) + frame(kReset, 0, stream, "\0\0\0\x08"s));
    streams.send();
  }
  EXPECT_LT(count, 5000);
  EXPECT_EQ(streams.session.streams(), 0u);
}

TEST(Http2Session, WhatIsNotHttp2EndsAtOnce) {
  for (const std::string& other : {"GET / HTTP/1.1\r\n\r\n"s, "\x16\x03\x01"s}) {
    StreamsForTest streams;
    EXPECT_FALSE(streams.receive(other));
    EXPECT_FALSE(streams.session.greeted());
  }
}

TEST(Http2Session, AfterItsEndItTakesNoStreamsAndIsOverBehindTheLast) {
  StreamsForTest streams;
  ASSERT_TRUE(streams.receive(kGreeting + frame(kHead, 4, 1, kFields)));
  streams.session.announce_end();
  streams.session.end();
  streams.send();
  EXPECT_FALSE(streams.session.over());
  ASSERT_TRUE(streams.receive(frame(kHead, 5, 3, kFields) + frame(kData, 1, 1, "last")));
  streams.send();
  EXPECT_TRUE(streams.session.over());
  EXPECT_EQ(streams.opened, 1);
}

}  // namespace
}  // namespace ridge::front::http
