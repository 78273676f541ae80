#include "front/base64.h"

#include <gtest/gtest.h>

namespace ridge::front {
namespace {

TEST(Base64, DecodesBase64Strictly) {
  EXPECT_EQ(base64_decoded(""), "");
  EXPECT_EQ(base64_decoded("Zg=="), "f");
  EXPECT_EQ(base64_decoded("Zm8="), "fo");
  EXPECT_EQ(base64_decoded("Zm9v"), "foo");
  for (const char* bad : {"Z", "Zg", "Zg=", "Zg===", "Zm9v\n", "Zh==", "Z-==", "=AAA"})
    EXPECT_EQ(base64_decoded(bad), std::nullopt) << bad;
}

TEST(Base64, WritesWhatItReads) {
  for (const char* text : {"", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "+/+/"})
    EXPECT_EQ(base64_encoded(base64_decoded(text).value()), text);
}

}  // namespace
}  // namespace ridge::front
