#include "serve/version_policy.h"

#include <gtest/gtest.h>

namespace ridge::serve {
namespace {

using Kind = VersionPolicy::Kind;
using Numbers = std::vector<int64_t>;

TEST(VersionPolicy, LatestTakesTheHighestNumbers) {
  EXPECT_EQ(*choose_versions({Kind::kLatest, 1, {}}, {10, 2, 1}), (Numbers{10}));
  EXPECT_EQ(*choose_versions({Kind::kLatest, 2, {}}, {10, 2, 1}), (Numbers{2, 10}));
  EXPECT_EQ(*choose_versions({Kind::kLatest, 5, {}}, {2, 1}), (Numbers{1, 2}));
}

TEST(VersionPolicy, AllTakesAll) { EXPECT_EQ(*choose_versions({Kind::kAll, 1, {}}, {3, 1}), (Numbers{1, 3})); }

TEST(VersionPolicy, SpecificTakesTheNamedOnesAndMissesNone) {
  EXPECT_EQ(*choose_versions({Kind::kSpecific, 1, {3, 1, 3}}, {1, 2, 3}), (Numbers{1, 3}));
  auto missing = choose_versions({Kind::kSpecific, 1, {4}}, {1, 2, 3});
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find("version 4"), std::string::npos);
}

TEST(VersionPolicy, NoVersionIsAnError) { EXPECT_EQ(choose_versions({}, {}).error().code, Code::kNotFound); }

}  // namespace
}  // namespace ridge::serve
