#include "precision/picture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace ridge::precision {
namespace {

Picture ramp(int width, int height, int least, int most) {
  Picture picture{width, height, 3, {}};
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int c = 0; c < 3; ++c)
        picture.pixels.push_back(static_cast<uint8_t>(least + (most - least) * (x + y) / (width + height - 2)));
  return picture;
}

Picture constant(int width, int height, uint8_t value) {
  return {width, height, 3, std::vector<uint8_t>(static_cast<size_t>(width) * static_cast<size_t>(height) * 3, value)};
}

// Resizes a ramp and a constant picture: a weighted mean of pixels stays between them, and near the ramp's own value
// there.
void expect_weighted_means(int width, int height, int to_width, int to_height) {
  SCOPED_TRACE(testing::Message() << width << " × " << height << " → " << to_width << " × " << to_height);
  const Result<Picture> flat = resized(constant(width, height, 137), to_width, to_height);
  ASSERT_TRUE(flat);
  EXPECT_TRUE(std::all_of(flat->pixels.begin(), flat->pixels.end(), [](int value) { return value == 137; }));
  const Result<Picture> slope = resized(ramp(width, height, 40, 220), to_width, to_height);
  ASSERT_TRUE(slope);
  const auto [least, most] = std::minmax_element(slope->pixels.begin(), slope->pixels.end());
  EXPECT_GE(*least, 40);
  EXPECT_LE(*most, 220);
  const size_t middle =
      (static_cast<size_t>(to_height / 2) * static_cast<size_t>(to_width) + static_cast<size_t>(to_width / 2)) * 3;
  EXPECT_NEAR(slope->pixels[middle], 130, 180.0 / to_width + 180.0 / to_height + 2);
}

TEST(Picture, ResizesByEveryRatioFromThreeTenthsToOne) {
  for (int width = 36; width <= 120; ++width) expect_weighted_means(120, 90, width, width * 3 / 4);
  for (int height = 36; height <= 120; ++height) expect_weighted_means(90, 120, height * 3 / 4, height);
}

TEST(Picture, ResizesOrdinaryPicturesToTheSizesOfClassifiersAndDetectors) {
  constexpr std::array<std::array<int, 2>, 8> kSizes = {
      {{500, 375}, {375, 500}, {300, 400}, {400, 300}, {333, 500}, {480, 360}, {640, 480}, {1024, 768}}};
  for (const auto& [width, height] : kSizes)
    for (const int side : {224, 256, 320}) {
      expect_weighted_means(width, height, side, side);  // stretched
      const int shorter = std::min(width, height);       // the shorter side
      expect_weighted_means(width, height, width * side / shorter, height * side / shorter);
    }
}

TEST(Picture, GrowsWithoutLeavingItsValues) { expect_weighted_means(60, 45, 224, 168); }

}  // namespace
}  // namespace ridge::precision
