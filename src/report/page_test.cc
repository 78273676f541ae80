#include "report/page.h"

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

// The text of the element "data".
std::string embedded(const std::string& page) {
  std::string open = "<script type=\"application/json\" id=\"data\">";
  size_t begin = page.find(open) + open.size();
  return page.substr(begin, page.find("</script>", begin) - begin);
}

Json hostile() {
  return {{"model", "a\"b'<i>&@SCRIPT@.onnx"},
          {"layers", {{{"name", "</script><script>alert(1)</script>"}, {"op", "<!--\xE2\x80\xA8"}}}}};
}

TEST(Page, CarriesThePlanUnchanged) {
  auto plan = parse_json(embedded(page(PageKind::kPlan, hostile(), Language::kEnglish)), "page");
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(*plan, hostile());
}

TEST(Page, NamesCannotBecomeMarkup) {
  std::string page = report::page(PageKind::kPlan, hostile(), Language::kEnglish);
  EXPECT_THAT(page, Not(HasSubstr("alert(1)</script>")));
  EXPECT_THAT(page, HasSubstr("<title>ridge plan · a&quot;b&#39;&lt;i&gt;&amp;@SCRIPT@.onnx</title>"));
  // The page's own: data, library, script. A library with the closing tag in its text would end its element early.
  EXPECT_EQ(times(page, "</script"), 3u);
  EXPECT_EQ(times(page, "</style"), 1u);
}

TEST(Page, NeedsNothingElse) {
  std::string page = report::page(PageKind::kPlan, Json::object(), Language::kEnglish);
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  for (const char* part : {" src=", "<link", "@import", "url("}) {
    size_t library = page.find("/*!"), script = page.find("// Shared by all pages");
    std::string own = page.substr(0, library) + page.substr(script);
    EXPECT_EQ(times(own, part), 0u) << part;
  }
  EXPECT_GT(page.size(), 100000u);  // with its charting library
}

TEST(Page, SaysItsLanguage) {
  EXPECT_THAT(page(PageKind::kPlan, Json::object(), *language_from_name("zh")), HasSubstr("<html lang=\"zh-CN\">"));
  EXPECT_THAT(page(PageKind::kPlan, Json::object(), *language_from_name("en")), HasSubstr("<html lang=\"en\">"));
  EXPECT_FALSE(language_from_name("xx"));
}

TEST(Page, IsNamedAfterWhatItShows) {
  const struct {
    PageKind kind;
    Json value;
    const char* title;
  } rows[] = {
      {PageKind::kTune,
       {{"baseline", {{"model", "net<i>.onnx"}}}, {"best", {{"model", "variants/int8-1.onnx"}}}},
       "<title>ridge tune · net&lt;i&gt;.onnx</title>"},
      {PageKind::kPowerSweep, {{"device", "GPU 0 (<i>)"}}, "<title>ridge power sweep · GPU 0 (&lt;i&gt;)</title>"},
      {PageKind::kLab, {{"conditions", {{"name", "GPU<i>"}}}}, "<title>ridge lab · GPU&lt;i&gt;</title>"},
  };
  for (const auto& row : rows) {
    const std::string page = report::page(row.kind, row.value, Language::kEnglish);
    EXPECT_THAT(page, HasSubstr(row.title));
    EXPECT_THAT(page, Not(HasSubstr("<i>")));
  }
}

TEST(Page, OfAnythingElseIsStillAPage) {
  for (PageKind kind : {PageKind::kPlan, PageKind::kTune, PageKind::kPowerSweep, PageKind::kLab})
    EXPECT_THAT(page(kind, Json::array(), Language::kChinese), HasSubstr("<html lang=\"zh-CN\">"));
}

TEST(EscapeScriptJson, KeepsTheMeaning) {
  std::string text = R"({"a<b":"<!-- & -->\u2028"})";
  std::string escaped = escape_script_json(text);
  EXPECT_EQ(times(escaped, "<"), 0u);
  EXPECT_EQ(*parse_json(escaped, "x"), *parse_json(text, "x"));
}

}  // namespace
}  // namespace ridge::report
