#include "front/openai/response.h"

#include <gtest/gtest.h>

#include <limits>

namespace ridge::front::openai {
namespace {

const OpenAiForm kCompletion{.call = OpenAiCall::kCompletion, .id = "cmpl-1", .model = "m", .created = 7};
const OpenAiForm kChat{.call = OpenAiCall::kChat, .id = "chatcmpl-1", .model = "m", .created = 7};
const serve::TextUsage kUsage{.prompt_tokens = 3, .cached_tokens = 2, .completion_tokens = 4};

TEST(OpenAiResponse, EventsOfACompletion) {
  EXPECT_EQ(event_of(kCompletion, {.choice = 1, .begins = true, .text = "a\n"}, nullptr),
            R"(data: {"id":"cmpl-1","object":"text_completion","created":7,"model":"m","choices":[)"
            R"({"index":1,"text":"a\n","logprobs":null,"finish_reason":null}]})"
            "\n\n");
  EXPECT_EQ(event_of(kCompletion, {.finish = "stop", .stop_reason = "\"."}, nullptr),
            R"(data: {"id":"cmpl-1","object":"text_completion","created":7,"model":"m","choices":[)"
            R"({"index":0,"text":"","logprobs":null,"finish_reason":"stop","stop_reason":"\"."}]})"
            "\n\n");
}

TEST(OpenAiResponse, TheFirstEventOfAChatHasTheRoleAndTheLastAFinishReason) {
  EXPECT_EQ(event_of(kChat, {.begins = true, .text = "Hi"}, nullptr),
            R"(data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":7,"model":"m","choices":[)"
            R"({"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]})"
            "\n\n"
            R"(data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":7,"model":"m","choices":[)"
            R"({"index":0,"delta":{"content":"Hi"},"logprobs":null,"finish_reason":null}]})"
            "\n\n");
  EXPECT_EQ(event_of(kChat, {.finish = "length"}, nullptr),
            R"(data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":7,"model":"m","choices":[)"
            R"({"index":0,"delta":{},"logprobs":null,"finish_reason":"length","stop_reason":null}]})"
            "\n\n");
}

TEST(OpenAiResponse, AStopTokenIsNamedByItsNumber) {
  EXPECT_NE(event_of(kCompletion, {.finish = "stop", .stop_token = 7}, nullptr).find(R"("stop_reason":7})"),
            std::string::npos);
}

TEST(OpenAiResponse, UsageComesInAnEventWithoutChoicesOrInEach) {
  OpenAiForm form = kChat;
  form.with_usage = true;
  EXPECT_EQ(event_of(form, {.text = "x"}, nullptr),
            R"(data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":7,"model":"m","choices":[)"
            R"({"index":0,"delta":{"content":"x"},"logprobs":null,"finish_reason":null}],"usage":null})"
            "\n\n");
  const std::string usage = R"("usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7,)"
                            R"("prompt_tokens_details":{"cached_tokens":2}}})"
                            "\n\n";
  EXPECT_EQ(
      usage_event(form, kUsage),
      R"(data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":7,"model":"m","choices":[],)" + usage);
  EXPECT_TRUE(event_of(form, {.text = "x"}, &kUsage).ends_with("}]," + usage));
  serve::TextUsage known = kUsage;
  known.step_seconds = 0.3;
  known.bound_seconds = 0.1;
  EXPECT_TRUE(usage_event(form, known)
                  .ends_with(R"("cached_tokens":2},"ridge":{"limit_share":0.3333}}})"
                             "\n\n"));
  form.unknown = {"max_token", "a\n\"b"};
  EXPECT_TRUE(usage_event(form, known)
                  .ends_with(R"("ridge":{"limit_share":0.3333,"unknown":["max_token","a\n\"b"]}}})"
                             "\n\n"));
  EXPECT_TRUE(whole_answer(form, {}, kUsage).ends_with(R"("ridge":{"unknown":["max_token","a\n\"b"]}}})"));
}

TEST(OpenAiResponse, CallsOfToolsInAStreamAndInAWholeAnswer) {
  const AnswerPart part{
      .text = "", .calls = {{.index = 1, .id = "call_1", .call = {"f", R"({"a":1})"}}}, .finish = "tool_calls"};
  EXPECT_EQ(
      event_of(kChat, part, nullptr),
      R"(data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":7,"model":"m","choices":[)"
      R"({"index":0,"delta":{"tool_calls":[{"index":1,"id":"call_1","type":"function","function":)"
      R"({"name":"f","arguments":"{\"a\":1}"}}]},"logprobs":null,"finish_reason":"tool_calls","stop_reason":null}]})"
      "\n\n");
  EXPECT_EQ(whole_answer(kChat, {&part, 1}, kUsage),
            R"({"id":"chatcmpl-1","object":"chat.completion","created":7,"model":"m","choices":[)"
            R"({"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function",)"
            R"("function":{"name":"f","arguments":"{\"a\":1}"}}]},"logprobs":null,"finish_reason":"tool_calls",)"
            R"("stop_reason":null}],"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7,)"
            R"("prompt_tokens_details":{"cached_tokens":2}}})");
}

TEST(OpenAiResponse, LogprobsOfACompletion) {
  OpenAiForm form = kCompletion;
  form.logprobs = 1;
  const AnswerPrompt prompt{.tokens = {{1, "x", 0, {}}}};
  AnswerPart part{.prompt = &prompt, .text = "éa"};
  part.offset = 5;
  part.tokens = {{2, "\xC3", -0.5F, {{3, "b", -0.25F, {}}, {4, "c", -9, {}}}},
                 {5,
                  "\xA9"
                  "a",
                  -std::numeric_limits<float>::infinity(),
                  {{5,
                    "\xA9"
                    "a",
                    -1,
                    {}}}}};
  const std::string answer = whole_answer(form, {&part, 1}, kUsage);
  EXPECT_EQ(
      answer.substr(answer.find(R"("choices")")),
      R"("choices":[{"index":0,"text":"éa","logprobs":{"tokens":["x","�","�a"],"token_logprobs":[null,-0.5,-9999.0],)"
      R"("top_logprobs":[null,{"b":-0.25,"�":-0.5},{"�a":-1.0}],"text_offset":[5,6,7]},"finish_reason":null}],)"
      R"("usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7,)"
      R"("prompt_tokens_details":{"cached_tokens":2}}})");
}

TEST(OpenAiResponse, LogprobsOfAChatHaveTheBytes) {
  OpenAiForm form = kChat;
  form.logprobs = 1;
  AnswerPart part{.text = "a"};
  part.tokens = {{1, "a", -0.5F, {{1, "a", -0.5F, {}}, {2, "b", -1, {}}}}};
  const std::string text = event_of(form, part, nullptr);
  EXPECT_NE(text.find(R"("logprobs":{"content":[{"token":"a","logprob":-0.5,"bytes":[97],"top_logprobs":)"
                      R"([{"token":"a","logprob":-0.5,"bytes":[97]}]}]},"finish_reason":null)"),
            std::string::npos)
      << text;
}

TEST(OpenAiResponse, TokensWhereTheyAreAskedFor) {
  OpenAiForm form = kCompletion;
  form.token_ids = true;
  const AnswerPrompt prompt{.ids = {4, 5}};
  AnswerPart part{.begins = true, .prompt = &prompt, .text = "a", .token_ids = {9}};
  EXPECT_NE(event_of(form, part, nullptr).find(R"("token_ids":[9],"prompt_token_ids":[4,5]}])"), std::string::npos);
  part.prompt = nullptr;
  EXPECT_EQ(event_of(form, part, nullptr).find("prompt_token_ids"), std::string::npos);
  form.call = OpenAiCall::kChat;
  part.prompt = &prompt;
  EXPECT_NE(whole_answer(form, {&part, 1}, kUsage).find(R"("token_ids":[9]}],"prompt_token_ids":[4,5],"usage")"),
            std::string::npos);
}

TEST(OpenAiResponse, Errors) {
  http::Response response = http::error_response(404, "no model 'x'");
  response.error_about = "model";
  EXPECT_EQ(
      openai_error(response),
      R"({"error":{"message":"no model 'x'","type":"not_found_error","param":"model","code":"model_not_found"}})");
  EXPECT_EQ(error_event(http::error_response(500, "it broke")),
            R"(data: {"error":{"message":"it broke","type":"server_error","param":null,"code":null}})"
            "\n\n");
}

}  // namespace
}  // namespace ridge::front::openai
