#include "front/openai/request.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace ridge::front::openai {
namespace {

struct ReadRequest {
  Result<OpenAiRequest> request{Error{}};
  std::string about;
};

ReadRequest read_as(OpenAiCall call, std::string_view json) {
  Body body;
  body.start(json.size());
  body.append(std::as_bytes(std::span(json.data(), json.size())));
  ReadRequest read;
  JsonParser parser;
  if (const Result<simdjson::dom::object> object = parser.parse(body.text()))
    read.request = read_openai_request(*object, call, {.sampling = {.top_k = 20}}, read.about);
  else
    read.request = object.error();
  return read;
}

OpenAiRequest completion(const std::string& members) {
  ReadRequest read = read_as(OpenAiCall::kCompletion, R"({"model":"m","prompt":"p")" + members + "}");
  EXPECT_TRUE(read.request) << members << ": " << read.request.error().message;
  return read.request ? *read.request : OpenAiRequest{};
}

OpenAiRequest chat(const std::string& members) {
  ReadRequest read =
      read_as(OpenAiCall::kChat, R"({"model":"m","messages":[{"role":"user","content":"hi"}])" + members + "}");
  EXPECT_TRUE(read.request) << members << ": " << read.request.error().message;
  return read.request ? *read.request : OpenAiRequest{};
}

TEST(OpenAiRequest, PromptsAreTextsOrTokens) {
  using Tokens = std::vector<int32_t>;
  const auto prompts = [](const std::string& prompt) {
    ReadRequest read = read_as(OpenAiCall::kCompletion, R"({"prompt":)" + prompt + "}");
    EXPECT_TRUE(read.request) << read.request.error().message;
    return read.request->prompts;
  };
  EXPECT_EQ(prompts(R"("a")"), std::vector<Prompt>{"a"});
  EXPECT_EQ(prompts(R"(["a","b"])"), (std::vector<Prompt>{"a", "b"}));
  EXPECT_EQ(prompts("[1,2]"), (std::vector<Prompt>{Tokens{1, 2}}));
  EXPECT_EQ(prompts("[[1],[2,3]]"), (std::vector<Prompt>{Tokens{1}, Tokens{2, 3}}));
  for (const char* wrong : {"{}", "7", "[]", "[1,\"a\"]", "[1.5]", "[-1]", "[{}]", "[4294967296]"}) {
    const ReadRequest read = read_as(OpenAiCall::kCompletion, R"({"prompt":)" + std::string(wrong) + "}");
    EXPECT_FALSE(read.request) << wrong;
    EXPECT_EQ(read.about, "prompt") << wrong;
  }
  EXPECT_EQ(read_as(OpenAiCall::kCompletion, "{}").about, "prompt");
}

TEST(OpenAiRequest, WhatIsNotSaidIsAsOpenAiHasIt) {
  const serve::TextRequest wanted = completion("").wanted;
  EXPECT_EQ(wanted.most_tokens, 16);
  EXPECT_EQ(chat("").wanted.most_tokens, std::nullopt);
  EXPECT_EQ(wanted.choices, 1);
  EXPECT_EQ(wanted.sampling.temperature, 1);
  EXPECT_EQ(wanted.sampling.top_k, 20);
  EXPECT_EQ(completion(R"(,"top_k":3)").wanted.sampling.top_k, 3);
  EXPECT_EQ(completion(R"(,"top_k":null)").wanted.sampling.top_k, 20);
  EXPECT_EQ(wanted.logprobs, -1);
  EXPECT_FALSE(wanted.has_seed);
  EXPECT_FALSE(wanted.with_special);
  EXPECT_FALSE(wanted.form);
  EXPECT_TRUE(completion("").add_special);
  EXPECT_FALSE(chat("").add_special);
  EXPECT_EQ(completion(R"(,"logprobs":null,"seed":null,"stop":null,"max_tokens":null)").wanted.most_tokens, 16);
}

TEST(OpenAiRequest, ReadsHowTheAnswerIsGenerated) {
  const OpenAiRequest request = completion(
      R"(,"max_tokens":5,"min_tokens":2,"n":3,"echo":true,"logprobs":4,"stop":["a","b"],"seed":-1,"temperature":0,)"
      R"("top_p":0.5,"top_k":-1,"min_p":0.1,"presence_penalty":-2,"frequency_penalty":2,"repetition_penalty":1.5,)"
      R"("logit_bias":{"7":-100,"8":1},"ignore_eos":true,"stop_token_ids":[3],"include_stop_str_in_output":true,)"
      R"("skip_special_tokens":false,"add_special_tokens":false,"return_token_ids":true,"user":"u",)"
      R"("first_token_within_ms":250,"stream":true,"stream_options":{"include_usage":true,)"
      R"("continuous_usage_stats":true})");
  const serve::TextRequest& wanted = request.wanted;
  EXPECT_EQ(wanted.most_tokens, 5);
  EXPECT_EQ(wanted.least_tokens, 2);
  EXPECT_EQ(wanted.choices, 3);
  EXPECT_EQ(wanted.logprobs, 4);
  EXPECT_TRUE(request.echo && wanted.prompt_logprobs);
  EXPECT_EQ(wanted.stop, (generate::SharedList<std::string>{"a", "b"}));
  EXPECT_TRUE(wanted.has_seed);
  EXPECT_EQ(wanted.sampling.seed, UINT64_MAX);
  EXPECT_EQ(wanted.sampling.temperature, 0);
  EXPECT_EQ(wanted.sampling.top_p, 0.5);
  EXPECT_EQ(wanted.sampling.top_k, 0);
  EXPECT_EQ(wanted.sampling.min_p, 0.1);
  EXPECT_EQ(wanted.sampling.presence_penalty, -2);
  EXPECT_EQ(wanted.sampling.frequency_penalty, 2);
  EXPECT_EQ(wanted.sampling.repetition_penalty, 1.5);
  EXPECT_EQ(wanted.sampling.logit_bias, (generate::SharedList<std::pair<int32_t, float>>{{7, -100.0F}, {8, 1.0F}}));
  EXPECT_TRUE(wanted.ignore_eos && wanted.include_stop && wanted.with_special);
  EXPECT_EQ(wanted.stop_tokens, generate::SharedList<int32_t>{3});
  EXPECT_EQ(wanted.first_token_within, std::chrono::milliseconds(250));
  EXPECT_FALSE(request.add_special);
  EXPECT_EQ(request.user, "u");
  EXPECT_TRUE(request.stream && request.usage && request.usage_always && request.token_ids);
  EXPECT_EQ(completion(R"(,"stop":"x")").wanted.stop, generate::SharedList<std::string>{"x"});
}

TEST(OpenAiRequest, NamesTheMemberThatIsWrong) {
  const std::pair<const char*, const char*> completions[] = {
      {R"("max_tokens":0)", "max_tokens"},
      {R"("max_tokens":1.5)", "max_tokens"},
      {R"("max_tokens":2,"min_tokens":3)", "min_tokens"},
      {R"("n":0)", "n"},
      {R"("n":129)", "n"},
      {R"("best_of":2)", "best_of"},
      {R"("max_completion_tokens":0)", "max_completion_tokens"},
      {R"("grammar":"root ::= x")", "grammar"},
      {R"("typical_p":0.9)", "typical_p"},
      {R"("samplers":["top_k"])", "samplers"},
      {R"("json_schema":3)", "json_schema"},
      {R"("structured_outputs":{"grammar":"x"})", "structured_outputs"},
      {R"("structured_outputs":{"regex":"a","choice":["b"]})", "structured_outputs"},
      {R"("logprobs":21)", "logprobs"},
      {R"("logprobs":true)", "logprobs"},
      {R"("stop":"")", "stop"},
      {R"("stop":[1])", "stop"},
      {R"("temperature":-0.1)", "temperature"},
      {R"("temperature":"hot")", "temperature"},
      {R"("top_p":0)", "top_p"},
      {R"("top_p":1.1)", "top_p"},
      {R"("top_k":-2)", "top_k"},
      {R"("presence_penalty":3)", "presence_penalty"},
      {R"("repetition_penalty":0)", "repetition_penalty"},
      {R"("logit_bias":{"x":1})", "logit_bias"},
      {R"("logit_bias":{"1":101})", "logit_bias"},
      {R"("suffix":"s")", "suffix"},
      {R"("seed":1.5)", "seed"},
      {R"("seed":18446744073709551616)", "seed"},
      {R"("stream_options":{})", "stream_options"},
      {R"("stream":1)", "stream"},
      {R"("use_beam_search":true)", "use_beam_search"},
      {R"("prompt_logprobs":1)", "prompt_logprobs"},
      {R"("guided_grammar":"x")", "guided_grammar"},
      {R"("seed":1,"seed":1)", "seed"},
      {R"("response_format":{"type":"grammar"})", "response_format"},
      {R"("response_format":{"type":"json_schema","json_schema":{"name":"x"}})", "response_format"},
  };
  for (const auto& [members, about] : completions) {
    const ReadRequest read = read_as(OpenAiCall::kCompletion, R"({"prompt":"p",)" + std::string(members) + "}");
    EXPECT_FALSE(read.request) << members;
    EXPECT_EQ(read.about, about) << members;
  }
  const std::pair<const char*, const char*> chats[] = {
      {R"("top_logprobs":1)", "top_logprobs"},
      {R"("logprobs":true,"top_logprobs":21)", "top_logprobs"},
      {R"("tools":{})", "tools"},
      {R"("tools":[{"type":"function"}])", "tools"},
      {R"("tool_choice":"required")", "tool_choice"},
      {R"("tool_choice":"maybe")", "tool_choice"},
      {R"("tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":{"function":{"name":"g"}})",
       "tool_choice"},
      {R"("functions":[])", "functions"},
      {R"("chat_template":"x")", "chat_template"},
      {R"("continue_final_message":true)", "continue_final_message"},
  };
  for (const auto& [members, about] : chats) {
    const ReadRequest read =
        read_as(OpenAiCall::kChat, R"({"messages":[{"role":"user","content":"hi"}],)" + std::string(members) + "}");
    EXPECT_FALSE(read.request) << members;
    EXPECT_EQ(read.about, about) << members;
  }
}

TEST(OpenAiRequest, TakesNoMoreThanClientsNeed) {
  const auto list = [](int count, const char* each, bool numbered = false) {
    std::string text;
    for (int i = 0; i < count; ++i)
      text += (i > 0 ? "," : "") + (numbered ? "\"" + std::to_string(i) + "\":" : std::string()) + each;
    return text;
  };
  std::string ids;
  for (int i = 0; i <= static_cast<int>(kMostStopTokens); ++i) ids += "," + std::to_string(i);
  const std::string quote = "\"", name(kLongestName, 'u'), stop(kLongestStop, 's');
  const auto taken = [](const std::string& members) {
    const ReadRequest read = read_as(OpenAiCall::kCompletion, R"({"prompt":"p",)" + members + "}");
    return read.request ? std::string() : read.about;
  };
  EXPECT_EQ(taken(R"("user":")" + name + quote), "");
  EXPECT_EQ(taken(R"("user":")" + name + "u" + quote), "user");
  EXPECT_EQ(taken(R"("cache_salt":")" + name + "u" + quote), "cache_salt");
  EXPECT_EQ(taken(R"("stop":[)" + list(16, "\"a\"") + "]"), "");
  EXPECT_EQ(taken(R"("stop":[)" + list(17, "\"a\"") + "]"), "stop");
  EXPECT_EQ(taken(R"("stop":")" + stop + quote), "");
  EXPECT_EQ(taken(R"("stop":")" + stop + "s" + quote), "stop");
  EXPECT_EQ(taken(R"("logit_bias":{)" + list(300, "1", true) + "}"), "");
  EXPECT_EQ(taken(R"("logit_bias":{)" + list(301, "1", true) + "}"), "logit_bias");
  EXPECT_EQ(taken(R"("logit_bias":{"5":1,"5":1})"), "logit_bias");
  EXPECT_EQ(taken(R"("stop_token_ids":[)" + list(100'000, "5") + "]"), "") << "the same token";
  EXPECT_EQ(taken(R"("stop_token_ids":[)" + ids.substr(1) + "]"), "stop_token_ids");
}

TEST(OpenAiRequest, MembersOfOtherServersAreIgnored) {
  EXPECT_EQ(completion(R"(,"something":{"deep":[1]},"best_of":1,"suffix":"","use_beam_search":false)").prompts.size(),
            1U);
}

TEST(OpenAiRequest, AConversationBecomesTheTemplatesVariables) {
  const ReadRequest read = read_as(OpenAiCall::kChat, R"({"messages":[
      {"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"name":"N"},
      {"role":"assistant","content":null,"tool_calls":[{"id":"1","function":{"name":"f","arguments":"{\"x\":1}"}}]},
      {"role":"tool","tool_call_id":"1","content":"7"}],
      "tools":[{"type":"function","function":{"name":"f"}},{"type":"function","function":{"name":"g"}}],
      "tool_choice":{"type":"function","function":{"name":"g"}},
      "chat_template_kwargs":{"enable_thinking":false,"messages":"mine"}})");
  ASSERT_TRUE(read.request) << read.request.error().message;
  EXPECT_TRUE(read.request->has_tools);
  EXPECT_EQ(read.request->variables, Json::parse(R"({"enable_thinking":false,"messages":[
      {"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"name":"N"},
      {"role":"assistant","content":null,"tool_calls":[{"id":"1","function":{"name":"f","arguments":{"x":1}}}]},
      {"role":"tool","tool_call_id":"1","content":"7"}],
      "tools":[{"type":"function","function":{"name":"g"}}],"add_generation_prompt":true})"));
}

TEST(OpenAiRequest, ToolsThatMayNotBeCalledAreNotShownToTheModel) {
  const OpenAiRequest request = chat(R"(,"tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":"none")");
  EXPECT_FALSE(request.has_tools);
  EXPECT_FALSE(request.variables.contains("tools"));
}

TEST(OpenAiRequest, AToolThatMustBeCalledIsTheFormOfTheAnswer) {
  const std::string tools = R"(,"tools":[{"type":"function","function":{"name":"f"}}])";
  EXPECT_FALSE(chat(tools).wanted.form);
  EXPECT_FALSE(chat(tools + R"(,"tool_choice":"auto")").one_call);
  EXPECT_TRUE(chat(tools + R"(,"parallel_tool_calls":false)").one_call);
  const std::string call = R"(<tool_call>{"name": "f", "arguments": {}}</tool_call>)";
  const auto takes = [&](const std::string& members, const std::string& text) {
    const OpenAiRequest request = chat(tools + members);
    text::JsonState state(request.wanted.form.value());
    return state.accept(text) && state.may_end();
  };
  EXPECT_TRUE(takes(R"(,"tool_choice":"required")", call + call));
  EXPECT_FALSE(takes(R"(,"tool_choice":"required","parallel_tool_calls":false)", call + call));
  EXPECT_FALSE(takes(R"(,"tool_choice":{"type":"function","function":{"name":"f"}})", call + call));
  EXPECT_TRUE(takes(R"(,"response_format":{"type":"json_object"},"tool_choice":"required")", call));
  const ReadRequest refused =
      read_as(OpenAiCall::kChat, R"({"messages":[{"role":"user","content":"x"}],"tool_choice":"required",
      "tools":[{"type":"function","function":{"name":"f","parameters":{"not":{}}}}]})");
  EXPECT_FALSE(refused.request);
  EXPECT_EQ(refused.about, "tools");
}

TEST(OpenAiRequest, RefusesMessagesThatItCannotShowTheModel) {
  for (const char* messages :
       {"[]", "{}", "[7]", R"([{"content":"x"}])", R"([{"role":"user","content":7}])",
        R"([{"role":"user","content":[{"type":"image_url","image_url":{"url":"x"}}]}])",
        R"([{"role":"user","content":[{"type":"text"}]}])", R"([{"role":"user","content":["x"]}])"}) {
    const ReadRequest read = read_as(OpenAiCall::kChat, R"({"messages":)" + std::string(messages) + "}");
    EXPECT_FALSE(read.request) << messages;
    EXPECT_EQ(read.about, "messages") << messages;
  }
  std::string many = R"([{"role":"user","content":"x")";
  for (int i = 0; i < 2000; ++i) many += ",\"a" + std::to_string(i) + "\":1";
  EXPECT_EQ(read_as(OpenAiCall::kChat, R"({"messages":)" + many + "}]}").about, "messages");
}

TEST(OpenAiRequest, AnswersInJson) {
  EXPECT_TRUE(chat(R"(,"response_format":{"type":"json_object"})").wanted.form);
  EXPECT_FALSE(chat(R"(,"response_format":{"type":"text"})").wanted.form);
  const auto form =
      chat(R"(,"response_format":{"type":"json_schema","json_schema":{"name":"n","schema":{"type":"null"}}})")
          .wanted.form;
  ASSERT_TRUE(form);
  EXPECT_TRUE(text::JsonState(*form).accept("null"));
  EXPECT_FALSE(text::JsonState(*form).accept("1"));
  const ReadRequest refused = read_as(
      OpenAiCall::kChat, R"({"messages":[{"role":"user","content":"x"}],"response_format":{"type":"json_schema",)"
                         R"("json_schema":{"schema":{"pattern":"(?=a)b"}}}})");
  EXPECT_EQ(refused.about, "response_format");
}

TEST(OpenAiRequest, MembersOfOtherServersMaySayWhatIsSoAnyway) {
  const OpenAiRequest request = completion(
      R"(,"grammar":"","mirostat":0,"typical_p":1.0,"n_predict":-1,"lora":[],"json_schema":null,"priority":3,"x y":1,)"
      R"("store":true)");
  EXPECT_EQ(request.unknown, (std::vector<std::string>{"priority", "x y", "store"}));
  std::string many;
  for (int i = 0; i < 100; ++i) many += ",\"a" + std::to_string(i) + "\":1";
  EXPECT_EQ(completion(many).unknown.size(), kMostUnknown);
  EXPECT_EQ(completion(",\"" + std::string(1000, 'x') + "\":1,\"y\":1,\"y\":2").unknown,
            (std::vector<std::string>{std::string(kLongestUnknown, 'x'), "y"}));
  EXPECT_EQ(chat(R"(,"stream":true,"stream_options":{"include_usage":true,"chunk":5})").unknown,
            std::vector<std::string>{"stream_options.chunk"});
  EXPECT_TRUE(chat(R"(,"modalities":["text"],"echo":false)").unknown.empty());
  const auto about = [](const char* members) {
    return read_as(OpenAiCall::kChat, R"({"messages":[{"role":"user","content":"x"}],)" + std::string(members) + "}")
        .about;
  };
  EXPECT_EQ(about(R"("modalities":["text","audio"])"), "modalities");
  EXPECT_EQ(about(R"("web_search_options":{"search_context_size":"low"})"), "web_search_options");
  EXPECT_EQ(about(R"("documents":{})"), "documents");
}

TEST(OpenAiRequest, APromptMayBeScoredWithoutAnAnswer) {
  const serve::TextRequest wanted = completion(R"(,"max_tokens":0,"echo":true,"logprobs":1)").wanted;
  EXPECT_EQ(wanted.most_tokens, 0);
  EXPECT_TRUE(wanted.prompt_logprobs);
  EXPECT_EQ(completion(R"(,"max_completion_tokens":3)").wanted.most_tokens, 3);
  EXPECT_EQ(chat(R"(,"max_completion_tokens":2,"max_tokens":9)").wanted.most_tokens, 2);
}

TEST(OpenAiRequest, DocumentsAndEffortGoToTheTemplate) {
  const Json variables = chat(R"(,"documents":[{"title":"t","text":"x"}],"reasoning_effort":"low")").variables;
  EXPECT_EQ(variables["documents"][0]["title"], "t");
  EXPECT_EQ(variables["reasoning_effort"], "low");
  EXPECT_FALSE(variables.contains("enable_thinking"));
  EXPECT_EQ(chat(R"(,"reasoning_effort":"none")").variables["enable_thinking"], false);
  EXPECT_EQ(chat(R"(,"reasoning_effort":"none","chat_template_kwargs":{"enable_thinking":true})")
                .variables["enable_thinking"],
            true);
  EXPECT_TRUE(chat(R"(,"include_reasoning":false)").without_thoughts);
}

TEST(OpenAiRequest, OnlyAllowedToolsAreShownAndCalled) {
  const std::string tools =
      R"(,"tools":[{"type":"function","function":{"name":"f"}},{"type":"function","function":{"name":"g"}}],)"
      R"("tool_choice":)";
  const auto allowed = [&](const char* mode, const char* name) {
    return tools + R"({"type":"allowed_tools","allowed_tools":{"mode":")" + mode +
           R"(","tools":[{"type":"function","function":{"name":")" + name + R"("}}]}})";
  };
  const OpenAiRequest may = chat(allowed("auto", "g"));
  EXPECT_EQ(may.variables["tools"].size(), 1U);
  EXPECT_FALSE(may.wanted.form);
  EXPECT_EQ(chat(allowed("required", "g")).called, "g");
  const ReadRequest unknown =
      read_as(OpenAiCall::kChat, R"({"messages":[{"role":"user","content":"x"}])" + allowed("auto", "h") + "}");
  EXPECT_EQ(unknown.about, "tool_choice");
}

TEST(OpenAiRequest, LogprobsOfAChatAreASwitchAndANumber) {
  EXPECT_EQ(chat(R"(,"logprobs":true)").wanted.logprobs, 0);
  EXPECT_EQ(chat(R"(,"logprobs":true,"top_logprobs":20)").wanted.logprobs, 20);
  EXPECT_EQ(chat(R"(,"logprobs":false)").wanted.logprobs, -1);
  EXPECT_EQ(chat(R"(,"max_completion_tokens":9)").wanted.most_tokens, 9);
}

TEST(OpenAiRequest, TokenizesTextsAndConversations) {
  const ReadRequest text = read_as(OpenAiCall::kTokenize, R"({"prompt":"a","return_token_strs":true})");
  ASSERT_TRUE(text.request);
  EXPECT_TRUE(text.request->add_special && text.request->token_texts);
  EXPECT_TRUE(text.request->variables.is_null());
  const ReadRequest conversation =
      read_as(OpenAiCall::kTokenize, R"({"messages":[{"role":"user","content":"a"}],"add_generation_prompt":false})");
  ASSERT_TRUE(conversation.request);
  EXPECT_EQ(conversation.request->variables["add_generation_prompt"], false);
  EXPECT_FALSE(conversation.request->add_special);
  EXPECT_FALSE(read_as(OpenAiCall::kTokenize, R"({"prompt":"a","messages":[{"role":"user","content":"a"}]})").request);
  EXPECT_EQ(read_as(OpenAiCall::kDetokenize, "{}").about, "tokens");
  const ReadRequest tokens = read_as(OpenAiCall::kDetokenize, R"({"tokens":[1,2]})");
  ASSERT_TRUE(tokens.request);
  EXPECT_EQ(std::get<1>(tokens.request->prompts.front()), (std::vector<int32_t>{1, 2}));
}

}  // namespace
}  // namespace ridge::front::openai
