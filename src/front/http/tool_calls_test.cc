#include "front/http/tool_calls.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace ridge::front::http {
namespace {

// What is read of the text in pieces of that many bytes: all text, then the calls as [name arguments].
std::string read_in_pieces(const std::string& text, size_t size) {
  ToolCallReader reader;
  std::string read, calls;
  const auto take = [&](const ToolCallReader::Found& found) {
    read += found.text;
    for (const ToolCall& call : found.calls) calls += "[" + call.name + " " + call.arguments + "]";
  };
  for (size_t at = 0; at < text.size(); at += size) take(reader.add(text.substr(at, size)));
  take(reader.end());
  return read + calls;
}

TEST(ToolCalls, AreReadAlikeHoweverTheTextIsCut) {
  const std::pair<const char*, const char*> cases[] = {
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
  };
  for (const auto& [text, expected] : cases)
    for (const size_t size : {1U, 2U, 3U, 7U, 1000U}) EXPECT_EQ(read_in_pieces(text, size), expected) << size;
}

bool takes_calls(const text::JsonGrammar& form, const std::string& text) {
  text::JsonState state(form);
  return state.accept(text) && state.may_end();
}

TEST(ToolCalls, FormOfAnAnswerThatMustBeACall) {
  const Json tools = Json::parse(
      R"([{"function":{"name":"f","parameters":{"properties":{"n":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"integer"}}}}},
          {"function":{"name":"g \"x\""}}])");
  const std::string f = "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"n\":12}}\n</tool_call>";
  const std::string g = R"(<tool_call>{"name": "g \"x\"", "arguments": {}}</tool_call>)";
  const auto one = call_form(tools, false), several = call_form(tools, true);
  ASSERT_TRUE(one && several);
  for (const std::string& text : {f, g}) {
    EXPECT_TRUE(takes_calls(*one, text)) << text;
    EXPECT_TRUE(takes_calls(*several, text)) << text;
    EXPECT_EQ(read_in_pieces(text, 3).find("[" + std::string(text == f ? "f {" : "g \"x\" {")), 0U);
  }
  EXPECT_FALSE(takes_calls(*one, f + "\n" + g));
  EXPECT_TRUE(takes_calls(*several, f + "\n" + g + f));
  for (const char* text : {"", "{}", "Well, <tool_call>", R"(<tool_call>{"name": "h", "arguments": {}}</tool_call>)",
                           R"(<tool_call>{"name": "f", "arguments": {"n":"x"}}</tool_call>)",
                           R"(<tool_call>{"name": "g \"x\"", "arguments": {"n":1}}</tool_call>)"})
    EXPECT_FALSE(takes_calls(*several, text)) << text;
  const auto endless = call_form(
      Json::parse(R"([{"function":{"name":"f","parameters":{"properties":{"f":{"$ref":"#"}},"required":["f"]}}}])"),
      true);
  ASSERT_FALSE(endless);
  EXPECT_EQ(endless.error().code, Code::kInvalid);
  EXPECT_NE(endless.error().message.find("\"f\""), std::string::npos) << endless.error().message;
}

TEST(ToolCalls, TextThatCanBeNoCallIsGivenAtOnce) {
  ToolCallReader reader;
  EXPECT_EQ(reader.add("one").text, "one");
  EXPECT_EQ(reader.add(" two").text, " two");
  EXPECT_EQ(reader.add("\n").text, "");
  EXPECT_EQ(reader.add("<tool").text, "");
  EXPECT_EQ(reader.add("box>").text, "\n<toolbox>");
}

}  // namespace
}  // namespace ridge::front::http
