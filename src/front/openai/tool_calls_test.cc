#include "front/openai/tool_calls.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace ridge::front::openai {
namespace {

const text::CallForm& form(const char* chat_template) { return *text::answer_form_of(chat_template).calls; }

// Reads the text in pieces of that many bytes: all text, then the calls as [name arguments].
std::string read_in_pieces(const std::string& text, size_t size, const text::CallForm& of = form(""), bool cut = false,
                           bool forced = false) {
  ToolCallReader reader(of);
  std::string read, calls;
  const auto take = [&](const ToolCallReader::Found& found) {
    read += found.text;
    for (const ToolCall& call : found.calls) calls += "[" + call.name + " " + call.arguments + "]";
  };
  for (size_t at = 0; at < text.size(); at += size) take(reader.add(text.substr(at, size)));
  take(reader.end(cut, forced));
  return read + calls;
}

using Cases = std::vector<std::pair<const char*, const char*>>;
void expect_alike(const Cases& cases, const text::CallForm& of) {
  for (const auto& [text, expected] : cases)
    for (const size_t size : {1U, 2U, 3U, 7U, 1000U})
      EXPECT_EQ(read_in_pieces(text, size, of), expected) << text << " in pieces of " << size;
}

TEST(ToolCalls, AreReadAlikeHoweverTheTextIsCut) {
  expect_alike(
      {
          {"no call at all \n", "no call at all \n"},
          {R"(<tool_call>{"name":"f","arguments":{"a":[1,2]}}</tool_call>)", R"([f {"a":[1,2]}])"},
          {"Let me look.\n\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>\n",
           R"(Let me look.[f {"a":1}])"},
          {R"(<tool_call>{"name":"f","arguments":{}}</tool_call>
<tool_call>{"name":"g","parameters":{"b":"<"}}</tool_call>)",
           R"([f {}][g {"b":"<"}])"},
          {R"(<tool_call>{"name":"f","arguments":"{\"a\":1}"}</tool_call> done)", R"(done[f {"a":1}])"},
          {R"(<tool_call>{"name":"f"})", "[f {}]"},
          {"see\n<tool_call>{}</tool_call>\n", "see\n<tool_call>{}</tool_call>\n"},
          {"<tool_call>no JSON</tool_call> so", "<tool_call>no JSON</tool_call> so"},
          {"<tool_call>{\"name\":7}</tool_call>", "<tool_call>{\"name\":7}</tool_call>"},
          {"<tool_call>cut", "<tool_call>cut"},
          {"a < b <tool <tool_ca", "a < b <tool <tool_ca"},
          {"<<tool_call>{\"name\":\"f\"}</tool_call>", "<[f {}]"},
          // An argument that has the marks, and a call that is none before one that is.
          {R"(<tool_call>{"name":"f","arguments":{"c":"</tool_call> \"</tool_call><tool_call>\\"}}</tool_call>)",
           R"([f {"c":"</tool_call> \"</tool_call><tool_call>\\"}])"},
          {R"(<tool_call>{"name":"f","arguments":{"c":}</tool_call><tool_call>{"name":"g"}</tool_call>)",
           R"(<tool_call>{"name":"f","arguments":{"c":}</tool_call>[g {}])"},
      },
      form(""));
}

TEST(ToolCalls, OfMistral) {
  expect_alike({{R"([TOOL_CALLS][{"name":"f","arguments":{"a":"]}["},"id":"1"}, {"name": "g", "arguments": {}}])",
                 R"([f {"a":"]}["}][g {}])"},
                {R"([TOOL_CALLS] {"name":"f","arguments":{}} )", "[f {}]"},
                {R"(Hm. [TOOL_CALLS]f[ARGS]{"a": [1]}[TOOL_CALLS]g[CALL_ID]x1[ARGS]{})", R"(Hm.[f {"a":[1]}][g {}])"},
                {R"([TOOL_CALLS]f{"a": 1})", R"([f {"a":1}])"},
                {"[TOOL_CALLS][1] and", "[TOOL_CALLS][1] and"},
                {R"(a [1] [TOOL {"name": "f"})", R"(a [1] [TOOL {"name": "f"})"}},
               form("{{ '[TOOL_CALLS]' }}"));
}

TEST(ToolCalls, OfLlama3) {
  expect_alike(
      {{R"({"name": "f", "parameters": {"a": "}"}})", R"([f {"a":"}"}])"},
       {"\n"
        R"(<|python_tag|>{"type": "function", "name": "f", "parameters": {}}; {"name": "g", "parameters": {"b": 2}})",
        R"([f {}][g {"b":2}])"},
       {R"({"name": "Ada", "age": 36})", R"({"name": "Ada", "age": 36})"},
       {R"({"names": [1]} {"name": "f", "parameters": {}})", R"({"names": [1]} {"name": "f", "parameters": {}})"},
       {R"(See {"name": "f", "parameters": {}})", R"(See {"name": "f", "parameters": {}})"},
       {R"(<|python_tag|>print("x"))", R"(<|python_tag|>print("x"))"},
       {"{ no", "{ no"}},
      form("<|python_tag|>"));
  EXPECT_EQ(form("'\"parameters\": '").name, "llama3");
}

TEST(ToolCalls, ThatAreCutHaveTheBeginOfTheirArguments) {
  const std::string text = R"(<tool_call>{"name": "f", "arguments": {"c": "Köln", "n": 2}}</tool_call>)";
  for (size_t length = 1; length < text.size(); ++length) {
    const std::string read = read_in_pieces(text.substr(0, length), 5, form(""), true, true);
    EXPECT_EQ(read.find('<'), std::string::npos) << read;
    const size_t name = text.find("\"f\"") + 3, arguments = text.find("{\"c\"");
    EXPECT_EQ(read.empty(), length < name) << read;
    if (length > arguments) {
      EXPECT_TRUE(read.starts_with("[f {")) << read;
    }
  }
  EXPECT_EQ(read_in_pieces(R"(Hi <tool_call>{"name": "f", "arguments": {"c": "K)", 3, form(""), true),
            R"(Hi[f {"c": "K])");
  EXPECT_EQ(read_in_pieces("Hi <tool_call>{\"na", 3, form(""), true), "Hi <tool_call>{\"na");
  EXPECT_EQ(read_in_pieces(R"([TOOL_CALLS][{"name": "f", "arguments": {"c": [1)", 3, form("[TOOL_CALLS]"), true, true),
            R"([f {"c": [1])");
  EXPECT_EQ(read_in_pieces(R"({"name": "f", "parameters": {"c": 1)", 3, form("<|python_tag|>"), true, true),
            R"([f {"c": 1])");
}

TEST(Thoughts, StandApart) {
  using Stage = ThoughtReader::Stage;
  const auto read = [](Stage stage, const std::string& text, size_t size) {
    ThoughtReader reader(stage);
    std::string thought, answer;
    const auto take = [&](const ThoughtReader::Found& found) {
      thought += found.thought;
      answer += found.text;
    };
    for (size_t at = 0; at < text.size(); at += size) take(reader.add(text.substr(at, size)));
    take(reader.end());
    return "(" + thought + ")" + answer;
  };
  const std::tuple<Stage, const char*, const char*> cases[] = {
      {Stage::kBefore, "<think>\nSo, a < b\n and </thin\n</think>\n\nYes </think>",
       "(So, a < b\n and </thin)Yes </think>"},
      {Stage::kBefore, " \n<think></think>Yes", "()Yes"},
      {Stage::kBefore, " <thin is text", "() <thin is text"},
      {Stage::kBefore, "Yes <think>no</think>", "()Yes <think>no</think>"},
      {Stage::kBefore, "<think>cut </thi", "(cut </thi)"},
      {Stage::kThinks, "\nso\n\n</think>\n\nYes", "(so)Yes"},
      {Stage::kAnswers, "<think>x</think>", "()<think>x</think>"},
      {Stage::kBefore, "", "()"}};
  for (const auto& [stage, text, expected] : cases)
    for (const size_t size : {1U, 2U, 3U, 7U, 1000U}) EXPECT_EQ(read(stage, text, size), expected) << size;
}

bool takes_calls(const text::JsonGrammar& form, const std::string& text) {
  text::JsonState state(form);
  return state.accept(text) && state.may_end();
}

TEST(ToolCalls, FormOfAnAnswerThatMustBeACall) {
  const Json tools = Json::parse(
      R"([{"function":{"name":"f","parameters":{"properties":{"n":{"$ref":"#/$defs/n"}},
           "$defs":{"n":{"type":"integer"}}}}},
          {"function":{"name":"g \"x\""}}])");
  const std::string f = "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"n\":12}}\n</tool_call>";
  const std::string g = R"(<tool_call>{"name": "g \"x\"", "arguments": {}}</tool_call>)";
  const auto one = call_form(tools, false, form("")), several = call_form(tools, true, form(""));
  ASSERT_TRUE(one && several);
  for (const std::string& text : {f, g}) {
    EXPECT_TRUE(takes_calls(*one, text)) << text;
    EXPECT_TRUE(takes_calls(*several, text)) << text;
    EXPECT_EQ(read_in_pieces(text, 3).find("[" + std::string(text == f ? "f {" : "g \"x\" {")), 0U);
  }
  EXPECT_TRUE(takes_calls(*call_form(tools, false, form("[TOOL_CALLS]")),
                          R"([TOOL_CALLS][{"name": "f", "arguments": {"n":12}}])"));
  EXPECT_TRUE(
      takes_calls(*call_form(tools, false, form("<|python_tag|>")), R"({"name": "f", "parameters": {"n":12}})"));
  EXPECT_FALSE(takes_calls(*one, f + "\n" + g));
  EXPECT_TRUE(takes_calls(*several, f + "\n" + g + f));
  for (const char* text : {"", "{}", "Well, <tool_call>", R"(<tool_call>{"name": "h", "arguments": {}}</tool_call>)",
                           R"(<tool_call>{"name": "f", "arguments": {"n":"x"}}</tool_call>)",
                           R"(<tool_call>{"name": "g \"x\"", "arguments": {"n":1}}</tool_call>)"})
    EXPECT_FALSE(takes_calls(*several, text)) << text;
  const auto endless = call_form(
      Json::parse(R"([{"function":{"name":"f","parameters":{"properties":{"f":{"$ref":"#"}},"required":["f"]}}}])"),
      true, form(""));
  ASSERT_FALSE(endless);
  EXPECT_EQ(endless.error().code, Code::kInvalid);
  EXPECT_NE(endless.error().message.find("\"f\""), std::string::npos) << endless.error().message;
}

TEST(ToolCalls, TextThatCanBeNoCallIsGivenAtOnce) {
  ToolCallReader reader(form(""));
  EXPECT_EQ(reader.add("one").text, "one");
  EXPECT_EQ(reader.add(" two").text, " two");
  EXPECT_EQ(reader.add("\n").text, "");
  EXPECT_EQ(reader.add("<tool").text, "");
  EXPECT_EQ(reader.add("box>").text, "\n<toolbox>");
}

}  // namespace
}  // namespace ridge::front::openai
