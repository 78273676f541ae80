#include "precision/image.h"

#include <gtest/gtest.h>

#define STB_IMAGE_WRITE_IMPLEMENTATION
#define STB_IMAGE_WRITE_STATIC
#define STBI_WRITE_NO_STDIO
#include <stb/stb_image_write.h>

#include <filesystem>

#include "precision/picture.h"
#include "precision/test_model.h"

namespace ridge::precision {
namespace {

void append(void* text, void* data, int size) {
  static_cast<std::string*>(text)->append(static_cast<const char*>(data), static_cast<size_t>(size));
}

// Left half of one colour, right half of another.
std::string png(int width, int height, std::array<uint8_t, 3> left, std::array<uint8_t, 3> right) {
  std::vector<uint8_t> pixels;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (size_t c = 0; c < 3; ++c) pixels.push_back((x < width / 2 ? left : right)[c]);
  std::string file;
  stbi_write_png_to_func(append, &file, width, height, 3, pixels.data(), 3 * width);
  return file;
}

class ImageTest : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove_all(folder_); }
  Tensor read(const std::string& file, const TensorSpec& input, const ImageOptions& options = {}) {
    const std::string path = folder_ + "/a.png";
    EXPECT_TRUE(write_file_atomically(path, file));
    Result<ImagePlan> plan = plan_images(input, options);
    EXPECT_TRUE(plan) << plan.error().message;
    Result<Tensor> tensor = read_image(path, *plan);
    EXPECT_TRUE(tensor) << tensor.error().message;
    return std::move(*tensor);
  }
  static float at(const Tensor& tensor, size_t index) {
    return reinterpret_cast<const float*>(tensor.data.data())[index];
  }

  std::string folder_ = test_folder();
};

constexpr std::array<uint8_t, 3> kRed = {255, 0, 0}, kBlue = {0, 0, 255};

TEST_F(ImageTest, BecomesChannelsFirstWithImageNetStatistics) {
  const Tensor tensor = read(png(64, 64, kRed, kRed), {"x", DataType::kFp32, {1, 3, 8, 8}});
  EXPECT_EQ(tensor.shape, (Shape{1, 3, 8, 8}));
  EXPECT_NEAR(at(tensor, 0), (1 - 0.485) / 0.229, 1e-4);
  EXPECT_NEAR(at(tensor, 64), (0 - 0.456) / 0.224, 1e-4);
  EXPECT_NEAR(at(tensor, 191), (0 - 0.406) / 0.225, 1e-4);
}

TEST_F(ImageTest, ShapeTellsTheLayoutAndOptionsTheStatistics) {
  ImageOptions options;
  options.mean = {0};
  options.deviation = {1};
  options.fit = ImageFit::kStretch;
  const Tensor tensor = read(png(64, 32, kRed, kBlue), {"x", DataType::kFp32, {1, 4, 8, 3}}, options);
  const std::vector<float> left = {at(tensor, 0), at(tensor, 1), at(tensor, 2)};
  const std::vector<float> right = {at(tensor, 21), at(tensor, 22), at(tensor, 23)};
  EXPECT_EQ(left, (std::vector<float>{1, 0, 0}));
  EXPECT_EQ(right, (std::vector<float>{0, 0, 1}));
}

TEST_F(ImageTest, CropTakesTheMiddle) {
  // 300 wide, 100 high: in the middle square, the left half is red, the right half blue; the ends are cut off.
  ImageOptions options;
  options.mean = {0};
  options.deviation = {1};
  const Tensor tensor = read(png(300, 100, kRed, kBlue), {"x", DataType::kFp32, {1, 3, 10, 10}}, options);
  EXPECT_EQ(at(tensor, 0), 1);
  EXPECT_EQ(at(tensor, 9), 0);
  EXPECT_EQ(at(tensor, 200 + 9), 1);
}

TEST_F(ImageTest, BytesStayBytes) {
  const Tensor tensor = read(png(16, 16, kBlue, kBlue), {"x", DataType::kUint8, {1, 3, 4, 4}});
  EXPECT_EQ(tensor.type, DataType::kUint8);
  EXPECT_EQ(std::to_integer<int>(tensor.data.data()[0]), 0);
  EXPECT_EQ(std::to_integer<int>(tensor.data.data()[47]), 255);
}

TEST_F(ImageTest, ShrinkingPassesNoPixelOver) {
  std::vector<uint8_t> stripes(64 * 64);
  for (size_t i = 0; i < stripes.size(); ++i) stripes[i] = i % 2 ? 255 : 0;
  Result<Picture> small = resized({64, 64, 1, stripes}, 8, 8);
  ASSERT_TRUE(small);
  for (size_t i = 0; i < small->pixels.size(); ++i) {
    if (i % 8 == 0 || i % 8 == 7) continue;  // beyond the edge its pixel is repeated
    EXPECT_NEAR(small->pixels[i], 127.5, 12);
  }
}

TEST_F(ImageTest, JpegIsReadToo) {
  std::vector<uint8_t> grey(32 * 32, 200);
  std::string file;
  stbi_write_jpg_to_func(append, &file, 32, 32, 1, grey.data(), 90);
  Result<Picture> picture = decode(file, 1);
  ASSERT_TRUE(picture) << picture.error().message;
  EXPECT_NEAR(picture->pixels[500], 200, 2);
}

TEST_F(ImageTest, DamagedAndForeignFilesAreErrors) {
  EXPECT_FALSE(decode("GIF89a", 3));
  EXPECT_FALSE(decode("", 3));
  const std::string file = png(32, 32, kRed, kBlue);
  EXPECT_FALSE(decode(file.substr(0, file.size() / 2), 3));
}

TEST_F(ImageTest, InputsThatAreNoPicturesAreErrors) {
  EXPECT_FALSE(plan_images({"x", DataType::kFp32, {1, 16}}, {}));
  EXPECT_FALSE(plan_images({"x", DataType::kInt64, {1, 3, 8, 8}}, {}));
  EXPECT_FALSE(plan_images({"x", DataType::kFp32, {1, 4, 8, 8}}, {}));
  Result<ImagePlan> open = plan_images({"x", DataType::kFp32, {1, 3, -1, -1}}, {});
  ASSERT_FALSE(open);
  EXPECT_NE(open.error().message.find("--image-size"), std::string::npos) << open.error().message;
  ImageOptions options;
  ASSERT_TRUE(parse_image_size("6x8", options));
  Result<ImagePlan> sized = plan_images({"x", DataType::kFp32, {1, 3, -1, -1}}, options);
  ASSERT_TRUE(sized) << sized.error().message;
  EXPECT_EQ(sized->input.shape, (Shape{1, 3, 6, 8}));
}

TEST(ImageOptions, AreParsed) {
  ImageOptions options;
  ASSERT_TRUE(parse_image_size("224", options));
  EXPECT_EQ(options.height, 224);
  EXPECT_EQ(options.width, 224);
  EXPECT_FALSE(parse_image_size("224x", options));
  EXPECT_FALSE(parse_image_size("0", options));
  EXPECT_EQ(parse_channel_values("0.5,0.25,1").value(), (std::vector<double>{0.5, 0.25, 1}));
  EXPECT_FALSE(parse_channel_values("0.5,,1"));
  EXPECT_FALSE(parse_channel_values("half"));
}

}  // namespace
}  // namespace ridge::precision
