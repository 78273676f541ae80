#include "report/tune_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace ridge::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(TunePage, IsNamedAfterTheModelAsGiven) {
  const Json tuning = {{"baseline", {{"model", "net<i>.onnx"}}}, {"best", {{"model", "variants/int8-1.onnx"}}}};
  const std::string page = tune_page(tuning, Language::kEnglish);
  EXPECT_THAT(page, HasSubstr("<title>ridge tune · net&lt;i&gt;.onnx</title>"));
  EXPECT_THAT(page, Not(HasSubstr("net<i>")));
}

TEST(TunePage, OfAnythingElseIsStillAPage) {
  EXPECT_THAT(tune_page(Json::array(), Language::kChinese), HasSubstr("<html lang=\"zh-CN\">"));
}

}  // namespace
}  // namespace ridge::report
