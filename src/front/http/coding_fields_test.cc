#include "front/http/coding_fields.h"

#include <gtest/gtest.h>

namespace ridge::front::http {
namespace {

TEST(CodingFields, HonoursAcceptEncoding) {
  EXPECT_EQ(preferred_coding(""), Coding::kIdentity);
  EXPECT_EQ(preferred_coding("gzip"), Coding::kGzip);
  EXPECT_EQ(preferred_coding("GZIP, deflate, br"), Coding::kGzip);
  EXPECT_EQ(preferred_coding("deflate"), Coding::kDeflate);
  EXPECT_EQ(preferred_coding("gzip;q=0.5, deflate;q=0.8"), Coding::kDeflate);
  EXPECT_EQ(preferred_coding("gzip;q=0"), Coding::kIdentity);
  EXPECT_EQ(preferred_coding("gzip; q=0.0 , deflate;q=0"), Coding::kIdentity);
  EXPECT_EQ(preferred_coding("gzip;q=0, *"), Coding::kDeflate);
  EXPECT_EQ(preferred_coding("identity"), Coding::kIdentity);
  EXPECT_EQ(preferred_coding("br"), Coding::kIdentity);
  EXPECT_EQ(preferred_coding("gzip;q=nonsense"), Coding::kIdentity);
}

TEST(CodingFields, KnowsItsNames) {
  EXPECT_EQ(coding_from_field(" gzip "), Coding::kGzip);
  EXPECT_EQ(coding_from_field("identity"), Coding::kIdentity);
  EXPECT_EQ(coding_from_field("br"), std::nullopt);
  EXPECT_EQ(coding_from_field("gzip, gzip"), std::nullopt);
}

}  // namespace
}  // namespace ridge::front::http
