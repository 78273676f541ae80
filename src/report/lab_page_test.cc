#include "report/lab_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace ridge::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(LabPage, IsNamedAfterTheDevice) {
  const std::string page = lab_page({{"conditions", {{"name", "card<i>"}}}}, Language::kEnglish);
  EXPECT_THAT(page, HasSubstr("<title>ridge lab · card&lt;i&gt;</title>"));
  EXPECT_THAT(page, Not(HasSubstr("card<i>")));
}

TEST(LabPage, OfAnythingElseIsStillAPage) {
  EXPECT_THAT(lab_page(Json::array(), Language::kChinese), HasSubstr("<html lang=\"zh-CN\">"));
}

}  // namespace
}  // namespace ridge::report
