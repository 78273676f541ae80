#include "report/plan_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace ridge::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

size_t times(const std::string& text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + part.size())) ++count;
  return count;
}

// What lies between the tags of the element "data".
std::string embedded(const std::string& page) {
  std::string open = "<script type=\"application/json\" id=\"data\">";
  size_t begin = page.find(open) + open.size();
  return page.substr(begin, page.find("</script>", begin) - begin);
}

Json hostile() {
  return {{"model", "a\"b'<i>&@SCRIPT@.onnx"},
          {"layers", {{{"name", "</script><script>alert(1)</script>"}, {"op", "<!--\xE2\x80\xA8"}}}}};
}

TEST(PlanPage, CarriesThePlanUnchanged) {
  auto plan = parse_json(embedded(plan_page(hostile(), Language::kEnglish)), "page");
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(*plan, hostile());
}

TEST(PlanPage, NamesCannotBecomeMarkup) {
  std::string page = plan_page(hostile(), Language::kEnglish);
  EXPECT_THAT(page, Not(HasSubstr("alert(1)</script>")));
  EXPECT_THAT(page, HasSubstr("<title>ridge plan · a&quot;b&#39;&lt;i&gt;&amp;@SCRIPT@.onnx</title>"));
  // The page's own: data, library, script. A library that held the text itself would end its element early.
  EXPECT_EQ(times(page, "</script"), 3u);
  EXPECT_EQ(times(page, "</style"), 1u);
}

TEST(PlanPage, NeedsNothingElse) {
  std::string page = plan_page(Json::object(), Language::kEnglish);
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  for (const char* part : {" src=", "<link", "@import", "url("}) {
    size_t library = page.find("/*!"), script = page.find("// What pages share");
    std::string own = page.substr(0, library) + page.substr(script);
    EXPECT_EQ(times(own, part), 0u) << part;
  }
  EXPECT_GT(page.size(), 100000u);  // with its charting library
}

TEST(PlanPage, SaysItsLanguage) {
  EXPECT_THAT(plan_page(Json::object(), *language_from_name("zh")), HasSubstr("<html lang=\"zh-CN\">"));
  EXPECT_THAT(plan_page(Json::object(), *language_from_name("en")), HasSubstr("<html lang=\"en\">"));
  EXPECT_FALSE(language_from_name("xx"));
}

TEST(EscapeScriptJson, KeepsTheMeaning) {
  std::string text = R"({"a<b":"<!-- & -->\u2028"})";
  std::string escaped = escape_script_json(text);
  EXPECT_EQ(times(escaped, "<"), 0u);
  EXPECT_EQ(*parse_json(escaped, "x"), *parse_json(text, "x"));
}

}  // namespace
}  // namespace ridge::report
