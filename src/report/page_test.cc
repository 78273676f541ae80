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

Json of_verb(const char* verb, Json members = Json::object()) {
  members["about"] = {{"verb", verb}};
  return members;
}

std::string page_of(const Json& document, Language language = Language::kEnglish) {
  const Result<std::string> text = page(document, Json::object(), language);
  return text ? *text : text.error().message;
}

Json hostile() {
  return of_verb("plan", {{"model", "a\"b'<i>&@SCRIPT@.onnx"},
                          {"layers", {{{"name", "</script><script>alert(1)</script>"}, {"op", "<!--\xE2\x80\xA8"}}}}});
}

TEST(Page, CarriesThePlanUnchanged) {
  auto plan = parse_json(embedded(page_of(hostile())), "page");
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(*plan, hostile());
}

TEST(Page, NamesCannotBecomeMarkup) {
  const std::string page = page_of(hostile());
  EXPECT_THAT(page, Not(HasSubstr("alert(1)</script>")));
  EXPECT_THAT(page, HasSubstr("<title>ridge plan · a&quot;b&#39;&lt;i&gt;&amp;@SCRIPT@.onnx</title>"));
  // The page's own: data, Chinese, library, script. A library with the closing tag in its text would end its
  // element early.
  EXPECT_EQ(times(page, "</script"), 5u);
  EXPECT_EQ(times(page, "</style"), 1u);
}

TEST(Page, NeedsNothingElse) {
  const std::string page = page_of(of_verb("plan"));
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
  for (const char* part : {" src=", "<link", "@import", "url("}) {
    size_t library = page.find("/*!"), script = page.find("// Shared by all pages");
    std::string own = page.substr(0, library) + page.substr(script);
    EXPECT_EQ(times(own, part), 0u) << part;
  }
  EXPECT_GT(page.size(), 100000u);  // with its charting library
}

TEST(Page, BeginsInItsLanguageAndHoldsBoth) {
  const std::string chinese = page_of(of_verb("plan"), Language::kChinese), english = page_of(of_verb("plan"));
  EXPECT_THAT(chinese, HasSubstr("<html lang=\"zh-CN\">"));
  EXPECT_THAT(english, HasSubstr("<html lang=\"en\">"));
  EXPECT_THAT(english, HasSubstr("屋顶线"));
}

TEST(Page, IsNamedAfterWhatItShows) {
  const struct {
    Json document;
    const char* title;
  } rows[] = {
      {of_verb("tune", {{"baseline", {{"model", "a/net<i>.onnx"}}}, {"best", {{"model", "variants/int8-1.onnx"}}}}),
       "<title>ridge tune · net&lt;i&gt;.onnx</title>"},
      {of_verb("power sweep", {{"device", "GPU 0 (a/<i>)"}}), "<title>ridge power sweep · GPU 0 (a/&lt;i&gt;)</title>"},
      {of_verb("lab", {{"conditions", {{"name", "GPU<i>"}}}}), "<title>ridge lab · GPU&lt;i&gt;</title>"},
      {of_verb("bench", {{"model", 1}}), "<title>ridge bench</title>"},
  };
  for (const auto& row : rows) {
    const std::string page = page_of(row.document);
    EXPECT_THAT(page, HasSubstr(row.title));
    EXPECT_THAT(page, Not(HasSubstr("<i>")));
  }
}

TEST(Page, EveryVerbWithAPageHasItsScript) {
  for (const char* verb :
       {"plan", "tune", "bench", "bench server", "bench device", "doctor", "gpus", "power sweep", "lab", "gpu check"})
    EXPECT_GT(times(page_of(of_verb(verb)), "ridge.page("), 0u) << verb;
}

TEST(Page, OfAnotherVerbIsAnError) {
  EXPECT_FALSE(page(of_verb("serve"), Json::object(), Language::kEnglish));
  EXPECT_FALSE(page(Json::array(), Json::object(), Language::kEnglish));
}

TEST(EscapeScriptJson, KeepsTheMeaning) {
  std::string text = R"({"a<b":"<!-- & -->\u2028"})";
  std::string escaped = escape_script_json(text);
  EXPECT_EQ(times(escaped, "<"), 0u);
  EXPECT_EQ(*parse_json(escaped, "x"), *parse_json(text, "x"));
}

}  // namespace
}  // namespace ridge::report
