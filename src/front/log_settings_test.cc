#include "front/log_settings.h"

#include <gtest/gtest.h>

#include "base/log.h"

namespace ridge::front {
namespace {

class LogSettingsTest : public testing::Test {
 protected:
  ~LogSettingsTest() override { log::set_level(before_); }
  const log::Level before_ = log::level();
};

TEST_F(LogSettingsTest, AreTheLevelOfTheLog) {
  ASSERT_TRUE(change_log_settings({{"log_info", false}}));
  EXPECT_EQ(log::level(), log::Level::kWarning);
  ASSERT_TRUE(change_log_settings({{"log_verbose_level", uint64_t{2}}}));
  EXPECT_EQ(log::level(), log::Level::kDebug);
  ASSERT_TRUE(change_log_settings(
      {{"log_verbose_level", uint64_t{0}}, {"log_info", false}, {"log_warning", false}, {"log_error", false}}));
  EXPECT_EQ(log::level(), log::Level::kOff);
  const LogSettings now = log_settings();
  ASSERT_EQ(now.size(), 6u);
  EXPECT_EQ(now[1], (std::pair<std::string, LogValue>("log_info", false)));
  EXPECT_TRUE(change_log_settings({}));
  EXPECT_TRUE(change_log_settings({{"log_format", std::string("default")}}));
}

TEST_F(LogSettingsTest, ThatDoNotExistOrDoNotFitChangeNothing) {
  log::set_level(log::Level::kInfo);
  for (const LogSettings& wrong : std::initializer_list<LogSettings>{{{"log_info", uint64_t{1}}},
                                                                     {{"log_info", false}, {"other", true}},
                                                                     {{"log_file", std::string("/tmp/x")}},
                                                                     {{"log_format", std::string("xml")}},
                                                                     {{"log_verbose_level", true}},
                                                                     {{"log_warning", false}}}) {
    Status changed = change_log_settings(wrong);
    ASSERT_FALSE(changed);
    EXPECT_EQ(changed.error().code, Code::kInvalid);
    EXPECT_EQ(log::level(), log::Level::kInfo);
  }
}

}  // namespace
}  // namespace ridge::front
