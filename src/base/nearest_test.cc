#include "base/nearest.h"

#include <gmock/gmock.h>

namespace ridge {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::vector<std::string> kNames = {"GeForce RTX 4090", "GeForce RTX 4080", "H100 SXM", "plan", "serve"};

TEST(Nearest, FindsATypingErrorAway) { EXPECT_THAT(nearest("paln", kNames), IsEmpty()); }

TEST(Nearest, OneReplacedCharacterIsNear) { EXPECT_THAT(nearest("plam", kNames), ElementsAre("plan")); }

TEST(Nearest, APartOfTheNameInAnyCaseIsNear) {
  EXPECT_THAT(nearest("rtx4090", kNames), ElementsAre("GeForce RTX 4090", "GeForce RTX 4080"));
  EXPECT_THAT(nearest("h100", kNames), ElementsAre("H100 SXM"));
}

TEST(Nearest, ReturnsNoMoreThanAsked) { EXPECT_EQ(nearest("rtx", kNames, 1).size(), 1u); }

TEST(Nearest, NothingNearIsSaidHonestly) { EXPECT_THAT(nearest("quantum", kNames), IsEmpty()); }

TEST(Nearest, ANameWithMoreBehindItIsNear) { EXPECT_THAT(nearest("planning", kNames), ElementsAre("plan")); }

TEST(DidYouMean, AsksForTheNearestNames) {
  EXPECT_EQ(did_you_mean("paln", kNames), "; did you mean 'plan'?");
  EXPECT_EQ(did_you_mean("rtx4090", kNames), "; did you mean 'GeForce RTX 4090' or 'GeForce RTX 4080'?");
  EXPECT_EQ(did_you_mean("quantum", kNames), "");
}

TEST(EditDistance, CountsInsertionsDeletionsAndReplacements) {
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
}

}  // namespace
}  // namespace ridge
