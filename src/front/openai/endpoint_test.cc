#include "front/openai/endpoint.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "front/fake_service.h"
#include "front/fake_text_model.h"
#include "front/http/api.h"
#include "front/http/server.h"
#include "front/http/test_client.h"

namespace ridge::front::openai {
namespace {

using http::Api, http::ApiOptions, http::ClientResponse, http::get, http::post, http::Server, http::TestClient;

class OpenAiTest : public testing::Test {
 protected:
  OpenAiTest() {
    service_.texts = {model_};
    start({.server_version = "1.2", .max_input_bytes = 100'000});
  }

  void start(ApiOptions options) {
    client_.reset();
    server_.reset();
    auto api = std::make_shared<Api>(service_, std::move(options), threads_, [](TimePoint) { return std::string(); });
    auto server = Server::start({.listen = {"127.0.0.1", 0}}, api);
    EXPECT_TRUE(server);
    server_ = std::move(*server);
    client_ = std::make_unique<TestClient>(server_->port());
  }

  void await_request(size_t count = 1) const {
    while (model_->running() < count) std::this_thread::yield();
  }
  // Sends a request that is generated, and lets it be.
  nlohmann::json generate(const std::string& path, const std::string& body) {
    client_->send(post(path, body));
    await_request();
    model_->run_all();
    std::optional<ClientResponse> response = client_->read();
    EXPECT_TRUE(response);
    EXPECT_EQ(response->status, 200) << response->body;
    return nlohmann::json::parse(response->body);
  }
  // Likewise, and the data of its events.
  std::vector<std::string> events(const std::string& path, const std::string& body) {
    client_->send(post(path, body));
    await_request();
    model_->run_all();
    return read_events();
  }
  std::vector<std::string> read_events() {
    std::optional<ClientResponse> head = client_->read(true);
    EXPECT_TRUE(head);
    EXPECT_EQ(head->status, 200);
    EXPECT_EQ(head->fields["content-type"], "text/event-stream; charset=utf-8");
    std::string text = client_->read_chunks().value_or("cut off");
    std::vector<std::string> found;
    for (size_t end; (end = text.find("\n\n")) != std::string::npos; text.erase(0, end + 2)) {
      EXPECT_TRUE(text.starts_with("data: ")) << text;
      found.push_back(text.substr(6, end - 6));
    }
    EXPECT_EQ(text, "");
    return found;
  }
  nlohmann::json refused(const std::string& bytes, int status) {
    std::optional<ClientResponse> response = client_->ask(bytes);
    EXPECT_TRUE(response);
    EXPECT_EQ(response->status, status) << response->body;
    nlohmann::json json = nlohmann::json::parse(response->body);
    EXPECT_EQ(json.size(), 1U) << json;
    for (const char* member : {"message", "type", "param", "code"}) EXPECT_TRUE(json["error"].contains(member)) << json;
    return json["error"];
  }

  std::shared_ptr<FakeTextModel> model_ = std::make_shared<FakeTextModel>("m");
  FakeService service_;
  ControlThreads threads_;
  std::unique_ptr<Server> server_;
  std::unique_ptr<TestClient> client_;
};

constexpr const char* kHello = R"({"model":"m","messages":[{"role":"user","content":"hello"}]})";

TEST_F(OpenAiTest, ListsItsModels) {
  const nlohmann::json card = {{"id", "m"},   {"object", "model"}, {"created", 1700000000}, {"owned_by", "ridge"},
                               {"root", "m"}, {"parent", nullptr}, {"max_model_len", 128},  {"chat", true}};
  EXPECT_EQ(nlohmann::json::parse(client_->ask(get("/v1/models"))->body),
            nlohmann::json({{"object", "list"}, {"data", {card}}}));
  EXPECT_EQ(nlohmann::json::parse(client_->ask(get("/v1/models/m"))->body), card);
  const nlohmann::json of_tensorflow = nlohmann::json::parse(client_->ask(get("/v1/models/echo"))->body);
  EXPECT_TRUE(of_tensorflow.contains("model_version_status"));
  EXPECT_EQ(client_->ask(get("/v1/models/none"))->status, 404);
  EXPECT_EQ(client_->ask(get("/version"))->body, R"({"version":"1.2"})");
}

TEST_F(OpenAiTest, AnswersACompletionWhole) {
  model_->answers = {"abc"};
  const nlohmann::json answer = generate("/v1/completions", R"({"model":"m","prompt":"xy"})");
  EXPECT_TRUE(answer["id"].get<std::string>().starts_with("cmpl-"));
  EXPECT_EQ(answer["object"], "text_completion");
  EXPECT_EQ(
      answer["choices"],
      nlohmann::json::parse(R"([{"index":0,"text":"abc","logprobs":null,"finish_reason":"stop","stop_reason":null}])"));
  EXPECT_EQ(answer["usage"]["prompt_tokens"], 3);  // with the begin of text
  EXPECT_EQ(answer["usage"]["completion_tokens"], 3);
}

TEST_F(OpenAiTest, NamesUnknownMembersInTheUsage) {
  const nlohmann::json unknown = {"max_token"};
  const std::string members = R"({"model":"m","prompt":"xy","max_token":5)";
  EXPECT_EQ(generate("/v1/completions", members + "}")["usage"]["ridge"]["unknown"], unknown);
  const std::vector<std::string> found =
      events("/v1/completions", members + R"(,"stream":true,"stream_options":{"include_usage":true}})");
  EXPECT_EQ(nlohmann::json::parse(found.at(found.size() - 2))["usage"]["ridge"]["unknown"], unknown);
}

// A reload between two look-ups would answer with the defaults of another version.
TEST_F(OpenAiTest, LooksItsModelUpOnce) {
  const int before = service_.text_model_calls;
  generate("/v1/completions", R"({"model":"m","prompt":"xy"})");
  EXPECT_EQ(service_.text_model_calls, before + 1);
}

TEST_F(OpenAiTest, AnswersAChatWholeByTheTemplate) {
  const nlohmann::json answer = generate("/v1/chat/completions", kHello);
  EXPECT_EQ(answer["choices"][0]["message"]["content"], "user: hello|assistant:");
  EXPECT_EQ(answer["choices"][0]["message"]["role"], "assistant");
  EXPECT_EQ(answer["usage"]["prompt_tokens"], 22);
}

TEST_F(OpenAiTest, GoesOnWithTheLastMessage) {
  const nlohmann::json answer = generate(
      "/v1/chat/completions", R"({"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"It is "}],
                                  "add_generation_prompt":false,"continue_final_message":true})");
  EXPECT_EQ(answer["choices"][0]["message"]["content"], "user: a|assistant: It is ");
}

TEST_F(OpenAiTest, StreamsAChat) {
  model_->answers = {"ab"};
  const std::vector<std::string> found =
      events("/v1/chat/completions", R"({"model":"m","messages":[{"role":"user","content":"q"}],"stream":true,)"
                                     R"("stream_options":{"include_usage":true}})");
  ASSERT_EQ(found.size(), 6U);
  EXPECT_EQ(found.back(), "[DONE]");
  const auto event = [&](size_t i) { return nlohmann::json::parse(found[i]); };
  EXPECT_EQ(event(0)["choices"][0]["delta"], nlohmann::json({{"role", "assistant"}, {"content", ""}}));
  EXPECT_EQ(event(1)["choices"][0]["delta"], nlohmann::json({{"content", "a"}}));
  EXPECT_EQ(event(2)["choices"][0]["delta"], nlohmann::json({{"content", "b"}}));
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(event(i)["choices"][0]["finish_reason"].is_null());
    EXPECT_TRUE(event(i)["usage"].is_null());
    EXPECT_EQ(event(i)["id"], event(0)["id"]);
  }
  EXPECT_EQ(event(3)["choices"][0]["finish_reason"], "stop");
  EXPECT_EQ(event(4)["choices"], nlohmann::json::array());
  EXPECT_EQ(event(4)["usage"]["completion_tokens"], 2);
}

TEST_F(OpenAiTest, StreamsEachPieceWhenItIsThere) {
  model_->answers = {"ab"};
  client_->send(post("/v1/completions", R"({"prompt":"p","stream":true})"));
  await_request();
  model_->step();
  ASSERT_TRUE(client_->read(true));
  EXPECT_NE(client_->read_chunk()->find(R"("text":"a")"), std::string::npos);
  EXPECT_FALSE(client_->readable());
  model_->step();
  EXPECT_NE(client_->read_chunk()->find(R"("text":"b")"), std::string::npos);
  model_->run_all();
  EXPECT_TRUE(client_->read_chunks()->ends_with("data: [DONE]\n\n"));
}

TEST_F(OpenAiTest, UsageMayStandInEveryEvent) {
  model_->answers = {"ab"};
  const std::vector<std::string> found =
      events("/v1/completions", R"({"prompt":"p","stream":true,"stream_options":{"continuous_usage_stats":true}})");
  ASSERT_EQ(found.size(), 4U);
  for (size_t i = 0; i < 3; ++i)
    EXPECT_EQ(nlohmann::json::parse(found[i])["usage"]["completion_tokens"], std::min<size_t>(i + 1, 2));
}

TEST_F(OpenAiTest, AnswersSeveralPromptsAndChoicesInTheirOrder) {
  model_->answers = {"a", "bb", "ccc", "dddd"};
  const nlohmann::json answer = generate("/v1/completions", R"({"prompt":["x","y"],"n":2,"max_tokens":3,"echo":true})");
  const std::pair<const char*, const char*> expected[] = {
      {"xa", "stop"}, {"xbb", "stop"}, {"yccc", "stop"}, {"yddd", "length"}};
  ASSERT_EQ(answer["choices"].size(), 4U);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(answer["choices"][i]["index"], i);
    EXPECT_EQ(answer["choices"][i]["text"], expected[i].first);
    EXPECT_EQ(answer["choices"][i]["finish_reason"], expected[i].second);
  }
  EXPECT_EQ(answer["usage"]["prompt_tokens"], 4);
  EXPECT_EQ(answer["usage"]["completion_tokens"], 9);
}

TEST_F(OpenAiTest, ABodyIsNoLongerThanWhatTheModelsTake) {
  start({.max_input_bytes = uint64_t{64} << 20});
  const std::string most = std::to_string((1 << 20) + 128 * 3);  // the context, of tokens of up to three bytes
  const std::string message =
      refused(post("/v1/completions", R"({"prompt":")" + std::string(1'050'000, 'x') + R"("})"), 413)["message"];
  EXPECT_NE(message.find(most), std::string::npos) << message;
  const nlohmann::json answer = generate("/v1/completions", R"({"prompt":"x")" + std::string(1'000'000, ' ') + "}");
  EXPECT_EQ(answer["usage"]["prompt_tokens"], 2);
}

TEST_F(OpenAiTest, PromptsAreMadeTokensNoFurtherThanTheContext) {
  const std::string text(90'000, 'x');
  std::string tokens = "1";
  for (int i = 0; i < 40'000; ++i) tokens += ",1";
  for (const std::string& prompt : {"\"" + text + "\"", "[" + tokens + "]"}) {
    const nlohmann::json error =
        refused(post("/v1/completions", R"({"n":128,"echo":true,"prompt":)" + prompt + "}"), 400);
    EXPECT_EQ(error["param"], "prompt");
    EXPECT_NE(error["message"].get<std::string>().find("more than 128 tokens"), std::string::npos) << error;
  }
  EXPECT_EQ(refused(post("/tokenize", R"({"prompt":")" + text + "\"}"), 400)["param"], "prompt");
  EXPECT_EQ(refused(post("/detokenize", R"({"tokens":[)" + tokens + "]}"), 400)["param"], "tokens");
}

// Memory for a list of the least values would be 10 to 90 times the body.
TEST_F(OpenAiTest, NoMoreValuesAreReadThanTheirBodyPaysFor) {
  start({.max_input_bytes = uint64_t{64} << 20});
  const auto list = [](const std::string& before, const std::string& each, const std::string& after) {
    std::string text = before + each;
    while (text.size() < 1'040'000) text += "," + each;
    return text + after;
  };
  const std::string chat = R"({"messages":[{"role":"user","content":"a"}],)", completion = R"({"prompt":"a",)";
  const std::pair<const char*, std::string> dense[] = {
      {"/v1/completions", list(R"({"prompt":[)", "1", "]}")},
      {"/v1/completions", list(R"({"prompt":[)", "[1]", "]}")},
      {"/v1/completions", list(completion + R"("stop_token_ids":[)", "5", "]}")},
      {"/v1/completions", list(completion + R"("x":[)", "{}", "]}")},
      {"/v1/completions",
       list(completion + R"("response_format":{"type":"json_schema","json_schema":{"schema":{"enum":[)", "1", "]}}}}")},
      {"/v1/completions", list(completion + R"("guided_json":"{\"enum\":[)", "1", R"(]}"})")},
      {"/v1/chat/completions", list(chat + R"("chat_template_kwargs":{"x":[)", "\"\"", "]}}")},
      {"/v1/chat/completions", list(R"({"messages":[)", R"({"role":"user","content":"a"})", "]}")},
      {"/v1/chat/completions",
       list(R"({"messages":[{"role":"assistant","tool_calls":[{"function":{"name":"f","\u0061rguments":"[)", "1",
            R"(]"}}]}]})")},
      {"/detokenize", list(R"({"tokens":[)", "1", "]}")}};
  for (const auto& [path, body] : dense) {
    const std::string message = refused(post(path, body), 400)["message"];
    EXPECT_NE(message.find("send fewer values"), std::string::npos) << body.substr(0, 100) << message;
  }
  const std::string message = refused(post("/v1/completions", list(R"({"prompt":[)", "1234", "]}")), 400)["message"];
  EXPECT_NE(message.find("more than 128 tokens"), std::string::npos) << message;
}

TEST_F(OpenAiTest, WhatIsKeptOfARequestCountsInTheBudget) {
  const auto budget = std::make_shared<MemoryBudget>(200'000);
  start({.max_input_bytes = 100'000, .memory = budget});
  const std::string small = R"({"prompt":"p","max_tokens":2)";
  EXPECT_EQ(client_->ask(post("/v1/completions", small + R"(,"n":128})"))->status, 503) << "128 answers are kept";
  client_->send(post("/v1/completions", small + "}"));
  await_request();
  EXPECT_FALSE(budget->take(199'000)) << "it is kept while it is answered";
  model_->run_all();
  EXPECT_EQ(client_->read()->status, 200);
  client_->send(post("/v1/completions", R"({"prompt":")" + std::string(100, 'a') + R"(","echo":true,"logprobs":5})"));
  await_request();
  EXPECT_TRUE(budget->take(190'000));
  model_->run_all();
  EXPECT_EQ(client_->read()->status, 503) << "so many chances do not fit";
  budget->give_back(190'000);
  EXPECT_EQ(client_->ask(get("/v1/models"))->status, 200) << "the server has let go of the answer before it";
  // The threads that answered give their last share back after the client has read the answer.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!budget->take(200'000)) {
    ASSERT_LT(std::chrono::steady_clock::now(), end) << "something is never given back";
    std::this_thread::yield();
  }
}

TEST_F(OpenAiTest, PrefixesAreKnownToTheirKeyAndSaltAlone) {
  const auto group = [&](const std::string& members) {
    generate("/v1/completions", R"({"prompt":"p")" + members + "}");
    return model_->last.prefix_group;
  };
  EXPECT_EQ(group(""), 0U);
  EXPECT_EQ(group(R"(,"user":"u")"), 0U) << "what a client calls its users keeps nothing apart";
  const uint64_t salted = group(R"(,"cache_salt":"s")");
  EXPECT_EQ(salted >> 63, 1U);
  EXPECT_EQ(group(R"(,"cache_salt":"s")"), salted);
  EXPECT_NE(group(R"(,"cache_salt":"t")"), salted);
}

TEST_F(OpenAiTest, TokensArePromptsToo) {
  EXPECT_EQ(generate("/v1/completions", R"({"prompt":[104,105]})")["choices"][0]["text"], "hi");
  EXPECT_EQ(model_->last.prompt, (generate::SharedList<int32_t>{104, 105}));
}

TEST_F(OpenAiTest, LogprobsGoWithTheTextAlsoWithThePrompts) {
  model_->answers = {"b"};
  const nlohmann::json choice = generate(
      "/v1/completions", R"({"prompt":"a","add_special_tokens":false,"echo":true,"logprobs":1})")["choices"][0];
  EXPECT_EQ(choice["text"], "ab");
  EXPECT_EQ(choice["logprobs"],
            nlohmann::json::parse(R"({"tokens":["a","b"],"token_logprobs":[null,-0.5],"top_logprobs":[null,{"b":-0.5}],
                                      "text_offset":[0,1]})"));
}

TEST_F(OpenAiTest, CallsOfToolsAreParsed) {
  model_->answers = {R"(Wait. <tool_call>{"name":"f","arguments":{"a":1}}</tool_call>)"};
  const std::string tools = R"({"messages":[{"role":"user","content":"q"}],"max_tokens":99,
      "tools":[{"type":"function","function":{"name":"f"}}])";
  const nlohmann::json choice = generate("/v1/chat/completions", tools + "}")["choices"][0];
  EXPECT_EQ(choice["finish_reason"], "tool_calls");
  EXPECT_EQ(choice["message"]["content"], "Wait.");
  EXPECT_EQ(choice["message"]["tool_calls"][0]["function"],
            nlohmann::json({{"name", "f"}, {"arguments", R"({"a":1})"}}));
  EXPECT_EQ(model_->last.prompt.front(), 'f');  // the template was given the tool

  std::string text;
  nlohmann::json calls, finish;
  for (const std::string& data : events("/v1/chat/completions", tools + R"(,"stream":true})")) {
    if (data == "[DONE]") continue;
    const nlohmann::json each = nlohmann::json::parse(data)["choices"][0];
    text += each["delta"].value("content", "");
    if (each["delta"].contains("tool_calls")) calls = each["delta"]["tool_calls"];
    finish = each["finish_reason"];
  }
  EXPECT_EQ(text, "Wait.");
  EXPECT_EQ(calls[0]["index"], 0);
  EXPECT_EQ(calls[0]["function"]["arguments"], R"({"a":1})");
  EXPECT_EQ(finish, "tool_calls");
}

TEST_F(OpenAiTest, CallsAreReadInTheFormOfTheModelsKind) {
  const std::string body = R"({"messages":[{"role":"user","content":"q"}],"max_tokens":99,"n":2,
      "tools":[{"type":"function","function":{"name":"f"}}])";
  model_->form = text::answer_form_of("<|python_tag|>");
  model_->answers = {R"({"name": "f", "parameters": {"a": 1}})", R"(<|python_tag|>{"name": "f", "parameters": {}})"};
  nlohmann::json choices = generate("/v1/chat/completions", body + "}")["choices"];
  EXPECT_EQ(choices[0]["message"]["tool_calls"][0]["function"]["arguments"], R"({"a":1})");
  EXPECT_EQ(choices[1]["message"]["tool_calls"][0]["function"]["arguments"], "{}");
  EXPECT_EQ(model_->last.marks.front(), "<|python_tag|>") << "a special token that the reader needs to see";
  model_->form = text::answer_form_of("[TOOL_CALLS]");
  model_->answers = {R"([TOOL_CALLS][{"name":"f","arguments":{}},{"name":"f","arguments":{"b":2}}])", "no"};
  choices = generate("/v1/chat/completions", body + "}")["choices"];
  EXPECT_EQ(choices[0]["message"]["tool_calls"][1]["function"]["arguments"], R"({"b":2})");
  EXPECT_EQ(choices[1]["message"]["content"], "no");
}

TEST_F(OpenAiTest, ACallThatIsCutIsNoText) {
  model_->answers = {R"(<tool_call>{"name": "f", "arguments": {"c": "long"}}</tool_call>)"};
  const auto cut = [&](int most) {
    return generate("/v1/chat/completions", R"({"messages":[{"role":"user","content":"q"}],
        "tools":[{"type":"function","function":{"name":"f"}}],"tool_choice":"required","max_tokens":)" +
                                                std::to_string(most) + "}")["choices"][0];
  };
  const nlohmann::json early = cut(3), late = cut(46);
  EXPECT_EQ(early["message"]["content"], nullptr);
  EXPECT_EQ(early["message"]["tool_calls"][0]["function"], nlohmann::json({{"name", "f"}, {"arguments", ""}}));
  EXPECT_EQ(late["message"]["content"], nullptr);
  EXPECT_EQ(late["message"]["tool_calls"][0]["function"]["arguments"], R"({"c": "l)");
  EXPECT_EQ(late["finish_reason"], "length");
}

TEST_F(OpenAiTest, ThoughtsStandApart) {
  model_->form = text::answer_form_of("<think>");
  model_->answers = {"<think>\nhm\n</think>\n\nYes"};
  const nlohmann::json message = generate("/v1/chat/completions", kHello)["choices"][0]["message"];
  EXPECT_EQ(message,
            nlohmann::json::parse(R"({"role":"assistant","content":"Yes","reasoning":"hm","reasoning_content":"hm"})"));
  std::string thought, text;
  for (const std::string& data :
       events("/v1/chat/completions", R"({"messages":[{"role":"user","content":"hello"}],"stream":true})")) {
    if (data == "[DONE]") continue;
    const nlohmann::json delta = nlohmann::json::parse(data)["choices"][0]["delta"];
    thought += delta.value("reasoning", "");
    EXPECT_EQ(delta.value("reasoning", ""), delta.value("reasoning_content", ""));
    text += delta.value("content", "");
  }
  EXPECT_EQ(thought + "|" + text, "hm|Yes");

  const std::string without =
      R"({"model":"m","messages":[{"role":"user","content":"hello"}],"include_reasoning":false})";
  EXPECT_FALSE(generate("/v1/chat/completions", without)["choices"][0]["message"].contains("reasoning"));
  model_->thought = "<think>\n";  // the template begins it
  model_->answers = {"hm</think>Yes"};
  EXPECT_EQ(generate("/v1/chat/completions", kHello)["choices"][0]["message"]["reasoning"], "hm");
  model_->thought = "<think>\n\n</think>\n\n";  // enable_thinking false
  model_->answers = {"Yes <think>"};
  EXPECT_EQ(generate("/v1/chat/completions", kHello)["choices"][0]["message"]["content"], "Yes <think>");
}

TEST_F(OpenAiTest, APromptIsScoredWithoutAnAnswer) {
  const nlohmann::json answer = generate(
      "/v1/completions", R"({"prompt":"ab","add_special_tokens":false,"echo":true,"logprobs":2,"max_tokens":0})");
  EXPECT_EQ(answer["choices"][0]["text"], "ab");
  EXPECT_EQ(answer["choices"][0]["logprobs"]["top_logprobs"], nlohmann::json::parse(R"([null,{"b":-0.5,"?":-1.5}])"));
  EXPECT_EQ(answer["usage"]["completion_tokens"], 0);
}

TEST_F(OpenAiTest, GoesOnWithAMessageInParts) {
  const nlohmann::json answer = generate(
      "/v1/chat/completions", R"({"messages":[{"role":"assistant","content":[{"type":"text","text":"It is "}]}],
                                  "add_generation_prompt":false,"continue_final_message":true})");
  EXPECT_TRUE(answer["choices"][0]["message"]["content"].get<std::string>().ends_with("It is "));
}

TEST_F(OpenAiTest, TextThatLooksLikeACallStaysTextWithoutTools) {
  model_->answers = {"<tool_call>{\"name\":\"f\"}</tool_call>"};
  const nlohmann::json choice = generate("/v1/chat/completions", kHello)["choices"][0];
  EXPECT_EQ(choice["message"]["content"], model_->answers[0]);
  EXPECT_EQ(choice["finish_reason"], "stop");
}

TEST_F(OpenAiTest, ErrorsHaveTheFormOfTheirProtocol) {
  EXPECT_EQ(refused(post("/v1/completions", "{"), 400)["type"], "invalid_request_error");
  EXPECT_EQ(refused(post("/v1/completions", R"({"prompt":"p","max_tokens":0})"), 400)["param"], "max_tokens");
  const nlohmann::json unknown =
      refused(post("/v1/chat/completions", R"({"model":"x","messages":[{"role":"user"}]})"), 404);
  EXPECT_EQ(unknown["code"], "model_not_found");
  EXPECT_EQ(unknown["param"], "model");
  refused(post("/v1/chat/completions", R"({"messages":[{"role":"unknown","content":"x"}]})"), 400);
  refused(post("/v1/completions", R"({"prompt":")" + std::string(200, 'x') + R"("})"), 400);
  refused(post("/v1/completions", R"({"prompt":")" + std::string(100'000, 'x') + R"("})"), 413);
  refused(get("/v1/completions"), 405);
  refused(post("/v1/responses", "{}"), 404);
  refused(post("/v1/audio/transcriptions", "{}"), 404);
  EXPECT_EQ(refused(post("/detokenize", R"({"tokens":[104,257]})"), 400)["param"], "tokens");
  refused(get("/v1/nothing"), 404);
  EXPECT_EQ(refused(post("/tokenize", "{}"), 400)["param"], "prompt");
  const nlohmann::json of_others = nlohmann::json::parse(client_->ask(post("/v1/models/none:predict", "{}"))->body);
  EXPECT_TRUE(of_others["error"].is_string()) << of_others;
}

TEST_F(OpenAiTest, ARequestThatWouldComeTooLateIsToldWhenNot) {
  std::optional<ClientResponse> response =
      client_->ask(post("/v1/completions", R"({"prompt":"p","first_token_within_ms":10})"));
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 503);
  EXPECT_EQ(response->fields["retry-after"], "3");
  EXPECT_NE(response->body.find("after 2.5 s"), std::string::npos);
}

TEST_F(OpenAiTest, AnErrorBeforeTheFirstPieceHasItsStatusAndALaterOneIsAnEvent) {
  client_->send(post("/v1/completions", R"({"prompt":"p","stream":true})"));
  await_request();
  model_->fail(Error{Code::kFailed, "the step failed"});
  EXPECT_EQ(client_->read()->status, 500);

  model_->answers = {"abc"};
  client_->send(post("/v1/completions", R"({"prompt":"p","stream":true})"));
  await_request();
  model_->step();
  model_->fail(Error{Code::kFailed, "the step failed"});
  const std::vector<std::string> found = read_events();
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(nlohmann::json::parse(found[1])["error"]["message"], "the step failed");
  EXPECT_EQ(found[2], "[DONE]");
}

TEST_F(OpenAiTest, AClientThatLeavesEndsItsGeneration) {
  model_->answers = {std::string(100, 'x')};
  client_->send(post("/v1/completions", R"({"prompt":"p","stream":true,"max_tokens":100})"));
  await_request();
  model_->step();
  ASSERT_TRUE(client_->read(true));
  client_->close();
  while (model_->cancelled() == 0) std::this_thread::yield();
  EXPECT_FALSE(model_->step()) << "it ends at the next step";
}

TEST_F(OpenAiTest, TwoStreamsOfOneConnectionComeInTheirOrder) {
  model_->answers = {"aa", "bb"};
  client_->send(post("/v1/completions", R"({"prompt":"p","stream":true})") +
                post("/v1/completions", R"({"prompt":"p","stream":true})"));
  while (!client_->readable()) model_->step();
  while (model_->step()) {
  }
  EXPECT_EQ(nlohmann::json::parse(read_events()[0])["choices"][0]["text"], "a");
  while (!client_->readable()) model_->step();  // the last steps above may have begun it
  model_->run_all();
  EXPECT_EQ(nlohmann::json::parse(read_events()[0])["choices"][0]["text"], "b");
}

TEST_F(OpenAiTest, MakesTokensOfTextsAndTextsOfTokens) {
  const nlohmann::json tokens =
      nlohmann::json::parse(client_->ask(post("/tokenize", R"({"prompt":"hi","return_token_strs":true})"))->body);
  EXPECT_EQ(tokens, nlohmann::json::parse(
                        R"({"count":3,"max_model_len":128,"tokens":[256,104,105],"token_strs":["<s>","h","i"]})"));
  const nlohmann::json of_chat = nlohmann::json::parse(
      client_->ask(post("/tokenize", R"({"messages":[{"role":"u","content":"a"}],"add_generation_prompt":false})"))
          ->body);
  EXPECT_EQ(of_chat["count"], 5);  // "u: a|"
  EXPECT_TRUE(of_chat["token_strs"].is_null());
  EXPECT_EQ(client_->ask(post("/detokenize", R"({"tokens":[256,104,105]})"))->body, R"({"prompt":"<s>hi"})");
}

}  // namespace
}  // namespace ridge::front::openai
