#include "front/content_coding.h"

#include <gtest/gtest.h>

namespace ridge::front {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

std::string coded(Coding coding, std::string_view text) {
  std::vector<std::span<const std::byte>> pieces{bytes_of(text.substr(0, text.size() / 2)),
                                                 bytes_of(text.substr(text.size() / 2))};
  return encode(coding, pieces);
}

Result<std::string> decoded(Coding coding, std::string_view text, uint64_t limit = 1 << 30) {
  Body body;
  RIDGE_TRY(decode(coding, bytes_of(text), {limit, "--option"}, body));
  return std::string(body.text());
}

TEST(ContentCoding, RoundTripsBothCodings) {
  std::string text;
  for (int i = 0; i < 300'000; ++i) text += std::to_string(i * int64_t{7919});
  for (Coding coding : {Coding::kGzip, Coding::kDeflate})
    for (std::string_view part : {std::string_view(text), std::string_view("abc"), std::string_view()}) {
      auto result = decoded(coding, coded(coding, part));
      ASSERT_TRUE(result) << result.error().message;
      EXPECT_TRUE(*result == part);
    }
}

TEST(ContentCoding, ReadsGzipOfSeveralMembers) {
  EXPECT_EQ(*decoded(Coding::kGzip, coded(Coding::kGzip, "abc") + coded(Coding::kGzip, "def")), "abcdef");
}

TEST(ContentCoding, RefusesTruncatedCorruptAndWronglySummedData) {
  for (Coding coding : {Coding::kGzip, Coding::kDeflate}) {
    std::string good = coded(coding, std::string(10'000, 'a') + "tail");
    EXPECT_FALSE(decoded(coding, ""));
    for (size_t cut = 1; cut < good.size(); ++cut) EXPECT_FALSE(decoded(coding, good.substr(0, cut))) << cut;
    std::string wrong_sum = good;
    wrong_sum[good.size() - (coding == Coding::kGzip ? 6 : 1)] ^= 1;  // gzip ends with check sum and length
    EXPECT_FALSE(decoded(coding, wrong_sum));
    EXPECT_FALSE(decoded(coding, good + "x"));
    EXPECT_FALSE(decoded(coding, "this is not compressed"));
    EXPECT_EQ(decoded(coding, wrong_sum).error().code, Code::kInvalid);
  }
  EXPECT_FALSE(decoded(Coding::kDeflate, coded(Coding::kGzip, "abc")));
}

TEST(ContentCoding, StopsBombsAtTheLimit) {
  std::string bomb = coded(Coding::kGzip, std::string(20'000'000, '\0'));
  EXPECT_LT(bomb.size(), 200'000u);
  auto result = decoded(Coding::kGzip, bomb, 1'000'000);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kExhausted);
  EXPECT_NE(result.error().message.find("--option"), std::string::npos);
}

}  // namespace
}  // namespace ridge::front
