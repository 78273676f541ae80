#include "text/chat_template.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace ridge::text {
namespace {

TEST(ChatTemplate, WritesAConversation) {
  const auto chat_template = ChatTemplate::parse(
      "{% for message in messages %}\n  {{- '<' + message.role + '>' + message['content'] | trim }}\n{% endfor %}\n"
      "{% if add_generation_prompt %}<assistant>{% endif %}");
  ASSERT_TRUE(chat_template.ok()) << chat_template.error().message;
  const Json variables = {{"messages", {{{"role", "user"}, {"content", " Hi "}}}}, {"add_generation_prompt", true}};
  EXPECT_EQ(*chat_template->render(variables), "<user>Hi\n<assistant>");
}

TEST(ChatTemplate, SaysWhereItIsWrong) {
  const auto unknown = ChatTemplate::parse("a{% if x %}\n {{ 1 | nofilter }}{% endif %}");
  ASSERT_TRUE(unknown.ok());
  EXPECT_EQ(*unknown->render(Json::object()), "a") << "a filter that is not reached does no harm";
  EXPECT_NE(unknown->render({{"x", 1}}).error().message.find("line 2, column 9"), std::string::npos);
  const auto raises = ChatTemplate::parse("\n{% if true %}{{ raise_exception('only text') }}{% endif %}");
  ASSERT_TRUE(raises.ok());
  const auto rendered = raises->render(Json::object());
  EXPECT_EQ(rendered.error().code, Code::kInvalid);
  EXPECT_NE(rendered.error().message.find("line 2"), std::string::npos);
  EXPECT_NE(rendered.error().message.find("only text"), std::string::npos);
}

TEST(ChatTemplate, EndsWhatRunsTooLong) {
  const auto endless =
      ChatTemplate::parse("{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}");
  ASSERT_TRUE(endless.ok());
  EXPECT_EQ(endless->render(Json::object()).error().code, Code::kInvalid);
}

TEST(ChatTemplate, RefusesVariablesThatAreNoObject) {
  const auto chat_template = ChatTemplate::parse("x");
  ASSERT_TRUE(chat_template.ok());
  EXPECT_EQ(chat_template->render(Json::array()).error().code, Code::kInvalid);
}

}  // namespace
}  // namespace ridge::text
