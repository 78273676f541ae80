#include "explain/plain.h"

#include <gtest/gtest.h>

namespace ridge::explain {
namespace {

TEST(Plain, CaseBlanksAndDashesDoNotCount) {
  EXPECT_EQ(plain("KV-Cache"), "kvcache");
  EXPECT_EQ(plain(" kv_cache "), plain("KV cache"));
  EXPECT_EQ(plain("M/M/c"), "mmc");
}

TEST(Plain, FullWidthLettersAreLettersAndChineseStays) {
  EXPECT_EQ(plain("ＸＩＤ　７９"), "xid79");
  EXPECT_EQ(plain("算术强度"), "算术强度");
}

TEST(MessageText, BlanksRunTogetherAndLinesStay) {
  EXPECT_EQ(message_text("CUDA  Error:\t 700\r\nnext"), "CUDA Error: 700 \nnext");
}

TEST(MessageText, ColoursGoAndTypographicQuotesBecomePlain) {
  EXPECT_EQ(message_text("\x1b[1;31mFailed\x1b[m: ‘x’ “y”"), "Failed: 'x' \"y\"");
}

TEST(MessageText, HoldsNothingThatATerminalWouldObey) {
  EXPECT_EQ(message_text("a\x1b]0;title\x07"
                         "b\x7f\bc"),
            "a ]0;title b c");
}

TEST(MessageText, ACutEscapeOrCharacterEnds) {
  EXPECT_EQ(message_text("a\x1b["), "a");
  EXPECT_EQ(message_text("\xEF\xBC"), "\xEF\xBC");
}

}  // namespace
}  // namespace ridge::explain
