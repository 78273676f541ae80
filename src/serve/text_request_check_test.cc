#include "serve/text_request_check.h"

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

namespace ridge::serve {
namespace {

const TextLimits kLimits{"m", 100, 50};

std::string text_refusal(const std::function<void(TextRequest&)>& change) {
  TextRequest request;
  request.prompt = {1, 2, 3};
  change(request);
  const Status checked = check_text_request(kLimits, request);
  if (!checked) {
    EXPECT_EQ(checked.error().code, Code::kInvalid);
  }
  return checked ? "" : checked.error().message;
}

TEST(TextRequestCheck, TakesWhatTheModelCanAnswer) {
  EXPECT_EQ(text_refusal([](TextRequest&) {}), "");
  EXPECT_EQ(text_refusal([](TextRequest& r) { r.most_tokens = 97; }), "");
  EXPECT_EQ(text_refusal([](TextRequest& r) { r.most_tokens = 0; }), "") << "the prompt's chances alone";
  EXPECT_EQ(text_refusal([](TextRequest& r) { r.prompt = std::vector<int32_t>(99, 49); }), "");
}

TEST(TextRequestCheck, SaysHowManyTokensFit) {
  const std::string refusal = text_refusal([](TextRequest& r) { r.most_tokens = 98; });
  for (const char* number : {"3 tokens", "98", "100"}) EXPECT_NE(refusal.find(number), std::string::npos) << refusal;
  EXPECT_NE(text_refusal([](TextRequest& r) { r.prompt = std::vector<int32_t>(100, 0); }), "")
      << "no token could follow";
  EXPECT_NE(text_refusal([](TextRequest& r) { r.prompt = {}; }), "");
  EXPECT_NE(text_refusal([](TextRequest& r) { r.most_tokens = -1; }), "");
  EXPECT_NE(text_refusal([](TextRequest& r) { r.most_tokens = std::numeric_limits<int64_t>::max(); }), "");
  EXPECT_NE(text_refusal([](TextRequest& r) { r.most_tokens = 5, r.least_tokens = 6; }), "");
}

TEST(TextRequestCheck, NamesATokenThatTheModelDoesNotHave) {
  EXPECT_NE(text_refusal([](TextRequest& r) { r.prompt = {1, 50, 3}; }).find("50"), std::string::npos);
  EXPECT_NE(text_refusal([](TextRequest& r) { r.prompt = {1, -1, 3}; }), "");
  EXPECT_NE(text_refusal([](TextRequest& r) { r.stop_tokens = {77}; }).find("77"), std::string::npos);
  EXPECT_NE(text_refusal([](TextRequest& r) { r.sampling.logit_bias = {{60, 1.0F}}; }).find("60"), std::string::npos);
}

TEST(TextRequestCheck, RefusesWhatHasNoMeaning) {
  EXPECT_NE(text_refusal([](TextRequest& r) { r.choices = 0; }), "");
  EXPECT_NE(text_refusal([](TextRequest& r) { r.choices = 129; }), "");
  EXPECT_NE(text_refusal([](TextRequest& r) { r.stop = {"a", ""}; }), "");
  EXPECT_NE(text_refusal([](TextRequest& r) { r.logprobs = 51; }), "");
}

TEST(TextRequestCheck, AFormNeedsAnEndThatTheFormDecides) {
  const auto formed = [](TextRequest& r) { r.form = text::JsonGrammar::of(Json::object()).value(); };
  EXPECT_EQ(text_refusal(formed), "");
  EXPECT_NE(text_refusal([&](TextRequest& r) {
              formed(r);
              r.least_tokens = 1;
            }).find("min_tokens"),
            std::string::npos);
  TextRequest request;
  request.prompt = {1};
  formed(request);
  const Status checked = check_text_request({"m", 100, 50, false}, request);
  ASSERT_FALSE(checked);
  EXPECT_NE(checked.error().message.find("eos_token_id"), std::string::npos);
}

}  // namespace
}  // namespace ridge::serve
