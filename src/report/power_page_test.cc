#include "report/power_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace ridge::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(PowerPage, IsNamedAfterTheDevice) {
  const std::string page = power_page({{"device", "GPU 0 (<i>)"}}, Language::kEnglish);
  EXPECT_THAT(page, HasSubstr("<title>ridge power sweep · GPU 0 (&lt;i&gt;)</title>"));
  EXPECT_THAT(page, Not(HasSubstr("(<i>)")));
}

TEST(PowerPage, OfAnythingElseIsStillAPage) {
  EXPECT_THAT(power_page(Json::array(), Language::kChinese), HasSubstr("<html lang=\"zh-CN\">"));
}

}  // namespace
}  // namespace ridge::report
