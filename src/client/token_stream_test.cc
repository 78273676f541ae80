#include "client/token_stream.h"

#include <gtest/gtest.h>

#include "base/fake_clock.h"
#include "client/wire.h"

namespace ridge::client {
namespace {

using std::chrono::milliseconds;

class TokenStreamTest : public testing::Test {
 protected:
  // How the request ends whose answer is this.
  int end(const std::string& body, bool streaming = true) {
    TokenStream stream(streaming, clock_, records_);
    stream.begin(7);
    stream.take(body);
    return stream.end(clock_.now(), why_);
  }

  FakeClock clock_;
  std::vector<TokenRecord> records_;
  std::string why_;
};

const std::string kText = R"(data: {"choices":[{"index":0,"text":" a"}]})"
                          "\n\n";
const std::string kUsage = R"(data: {"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":2}})"
                           "\n\n";
const std::string kDone = "data: [DONE]\n\n";

TEST_F(TokenStreamTest, TokensHaveTheTimesAtWhichTheirEventsCame) {
  TokenStream stream(true, clock_, records_);
  stream.begin(3);
  const TimePoint sent = clock_.now();
  const auto later = [&](int ms, const std::string& data) {
    clock_.advance(milliseconds(ms));
    stream.take("data: " + data + "\n\n");
  };
  later(20, R"({"choices":[{"delta":{"role":"assistant","content":""}}],"usage":null})");
  later(30, R"({"choices":[{"delta":{"reasoning_content":"hm"},"finish_reason":null}]})");
  later(4, R"({"choices":[{"delta":{"content":" a"}}]})");
  later(6, R"({"choices":[{"delta":{"tool_calls":[{"index":0}]}}]})");
  later(5, R"({"choices":[{"delta":{},"finish_reason":"stop"}]})");
  later(1, R"({"choices":[],"usage":{"prompt_tokens":11,"completion_tokens":4}})");
  later(1, "[DONE]");
  ASSERT_EQ(stream.end(sent, why_), 0) << why_;
  ASSERT_EQ(records_.size(), 1u);
  const TokenRecord& record = records_.front();
  EXPECT_EQ(record.number, 3);
  EXPECT_EQ(record.first - sent, milliseconds(50)) << "an event without text is no token";
  EXPECT_EQ(record.gaps_ms, (std::vector<float>{4, 6}));
  EXPECT_EQ(record.last - record.first, milliseconds(10));
  EXPECT_EQ(record.events, 3);
  EXPECT_EQ(record.prompt_tokens, 11);
  EXPECT_EQ(record.output_tokens, 4) << "usage is what counts";
}

TEST_F(TokenStreamTest, AnAnswerThatIsNotOneFailsForItsReason) {
  EXPECT_EQ(end(kText + kUsage + kDone), 0);
  EXPECT_EQ(end(kText + kDone), kNoUsage);
  EXPECT_EQ(end(kText + kUsage), kNoDone);
  EXPECT_EQ(end(kUsage + kDone), kNoTokens);
  EXPECT_EQ(end(kText + "data: {\"choices\":\n\n" + kUsage + kDone), kBadAnswer);
  EXPECT_EQ(end(kText + "data: {\"choices\":null}\n\n" + kUsage + kDone), kBadAnswer);
  EXPECT_NE(why_.find("'choices' is null"), std::string::npos);
  EXPECT_EQ(end("{\"choices\":[]}\n"), kBadAnswer) << "no event stream";
  EXPECT_EQ(end("data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1}}\n\n"), kBadAnswer);
  EXPECT_EQ(end(kText + "data: {\"error\":{\"message\":\"out of blocks\",\"code\":500}}\n\n"), kErrorInAnswer);
  EXPECT_EQ(why_, "out of blocks");
  EXPECT_EQ(records_.size(), 1u) << "of the first";
}

TEST_F(TokenStreamTest, AWholeAnswerHasUsageAndNoTimes) {
  const std::string usage = R"("usage":{"prompt_tokens":5,"completion_tokens":2})";
  EXPECT_EQ(end(R"({"choices":[{"message":{"content":"a b"}}],)" + usage + "}", false), 0) << why_;
  EXPECT_EQ(end(R"({"choices":[{"text":"a b"}]})", false), kNoUsage);
  EXPECT_EQ(end(R"({"choices":[{"text":""}],)" + usage + "}", false), kNoTokens);
  EXPECT_EQ(end("<html>", false), kBadAnswer);
  ASSERT_EQ(records_.size(), 1u);
  EXPECT_EQ(records_.front().output_tokens, 2);
}

}  // namespace
}  // namespace ridge::client
