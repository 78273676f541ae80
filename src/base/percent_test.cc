#include "base/percent.h"

#include <gtest/gtest.h>

namespace ridge {
namespace {

TEST(Percent, EncodesAllThatAPathReserves) {
  EXPECT_EQ(percent_encoded("resnet-50_v1.5~"), "resnet-50_v1.5~");
  EXPECT_EQ(percent_encoded("a b/ü%"), "a%20b%2F%C3%BC%25");
}

TEST(Percent, DecodesWhatItEncodes) {
  for (const char* text : {"", "plain", "a b/ü%?#"}) EXPECT_EQ(percent_decoded(percent_encoded(text)), text);
  EXPECT_EQ(percent_decoded("%c3%BC"), "ü");
}

TEST(Percent, RefusesHalfACodeAndNul) {
  for (const char* text : {"%", "%2", "%2g", "a%00b"}) EXPECT_FALSE(percent_decoded(text)) << text;
}

}  // namespace
}  // namespace ridge
