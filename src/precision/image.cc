#include "precision/image.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>

#include "base/element.h"
#include "base/file.h"
#include "base/letter_case.h"
#include "precision/picture.h"

namespace ridge::precision {
namespace {

const std::vector<double> kImageNetMean = {0.485, 0.456, 0.406};       // torchvision.models, "transforms"
const std::vector<double> kImageNetDeviation = {0.229, 0.224, 0.225};  // likewise
constexpr double kCropShare = 224.0 / 256.0;                           // likewise: crop_size ÷ resize_size

bool is_channel_count(int64_t dimension) { return dimension == 1 || dimension == 3; }

Result<bool> channels_first(const TensorSpec& input, const Shape& picture, ImageLayout layout) {
  if (layout != ImageLayout::kFromShape) return layout == ImageLayout::kChannelsFirst;
  if (is_channel_count(picture[0])) return true;
  if (is_channel_count(picture[2])) return false;
  return Error{Code::kInvalid, fmt::format("input '{}' of shape {} has no dimension of 1 or 3 channels where pictures "
                                           "have it; say --image-layout nchw or nhwc, or give .npy files",
                                           input.name, shape_text(input.shape))};
}

// `given` per channel, or one value for all, or nothing.
Result<std::vector<double>> per_channel(const std::vector<double>& given, const std::vector<double>& of_rgb,
                                        double of_grey, int64_t channels, const char* option) {
  const auto count = static_cast<size_t>(channels);
  if (given.empty()) return channels == 3 ? of_rgb : std::vector<double>(count, of_grey);
  if (given.size() == 1) return std::vector<double>(count, given[0]);
  if (given.size() == count) return given;
  return Error{Code::kInvalid,
               fmt::format("{} has {} values, the input has {} channels", option, given.size(), channels)};
}

// The model's dimension, or else the requested one.
Result<int64_t> side(int64_t model, int64_t asked, const TensorSpec& input) {
  if (model > 0 && asked > 0 && model != asked)
    return Error{Code::kInvalid, fmt::format("--image-size asks for {} pixels where input '{}' of shape {} has {}",
                                             asked, input.name, shape_text(input.shape), model)};
  if (model > 0 || asked > 0) return std::max(model, asked);
  return Error{Code::kInvalid, fmt::format("input '{}' of shape {} has no fixed picture size: give --image-size",
                                           input.name, shape_text(input.shape))};
}

// Pixels of the crop, or all, of the resized picture.
struct Frame {
  int width, height;  // after resizing
  int left, top;      // of the model's part
};
Frame frame_of(const Picture& picture, const ImagePlan& plan) {
  const auto width = static_cast<int>(plan.width), height = static_cast<int>(plan.height);
  if (plan.fit == ImageFit::kStretch) return {width, height, 0, 0};
  const double scale =
      std::max(static_cast<double>(width) / picture.width, static_cast<double>(height) / picture.height);
  const auto scaled = [&](int size) { return static_cast<int>(std::lround(size * scale / kCropShare)); };
  Frame frame{std::max(width, scaled(picture.width)), std::max(height, scaled(picture.height)), 0, 0};
  frame.left = (frame.width - width) / 2;
  frame.top = (frame.height - height) / 2;
  return frame;
}

Tensor to_tensor(const Picture& picture, const Frame& frame, const ImagePlan& plan) {
  const auto width = static_cast<size_t>(plan.width), height = static_cast<size_t>(plan.height);
  const auto channels = static_cast<size_t>(plan.channels);
  const bool raw = plan.input.type == DataType::kUint8;
  Tensor tensor{raw ? DataType::kUint8 : DataType::kFp32, plan.input.shape,
                Buffer(width * height * channels * (raw ? 1 : 4))};
  auto* floats = reinterpret_cast<float*>(tensor.data.data());
  for (size_t y = 0; y < height; ++y)
    for (size_t x = 0; x < width; ++x)
      for (size_t c = 0; c < channels; ++c) {
        const size_t from = ((y + static_cast<size_t>(frame.top)) * static_cast<size_t>(picture.width) + x +
                             static_cast<size_t>(frame.left)) *
                                channels +
                            c;
        const size_t to = plan.channels_first ? (c * height + y) * width + x : (y * width + x) * channels + c;
        const uint8_t value = picture.pixels[from];
        if (raw)
          tensor.data.data()[to] = std::byte{value};
        else
          floats[to] = static_cast<float>((value / 255.0 - plan.mean[c]) / plan.deviation[c]);
      }
  return tensor;
}

Result<int64_t> parse_side(std::string_view text) {
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1 || value > 16384)
    return Error{Code::kInvalid,
                 fmt::format("'{}' is not a number of pixels; examples: 224, 480x640 (height x width)", text)};
  return value;
}

}  // namespace

Status parse_image_size(const std::string& text, ImageOptions& options) {
  const size_t cross = text.find('x');
  RIDGE_ASSIGN(options.height, parse_side(std::string_view(text).substr(0, cross)));
  options.width = options.height;
  if (cross != std::string::npos) {
    RIDGE_ASSIGN(options.width, parse_side(std::string_view(text).substr(cross + 1)));
  }
  return {};
}

Result<std::vector<double>> parse_channel_values(const std::string& text) {
  std::vector<double> values;
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.size(), text.find(',', at));
    double value = 0;
    auto [end, error] = std::from_chars(text.data() + at, text.data() + comma, value);
    if (error != std::errc() || end != text.data() + comma || !std::isfinite(value))
      return Error{Code::kInvalid, fmt::format("'{}' is not one number per channel; example: 0.485,0.456,0.406", text)};
    values.push_back(value);
    at = comma + 1;
  }
  return values;
}

Result<ImagePlan> plan_images(const TensorSpec& input, const ImageOptions& options) {
  Shape picture = input.shape;
  if (picture.size() == 4) picture.erase(picture.begin());
  if (picture.size() != 3)
    return Error{Code::kInvalid,
                 fmt::format("pictures cannot become input '{}' of shape {}: a picture does not have this shape; "
                             "give .npy or .npz files",
                             input.name, shape_text(input.shape))};
  ImagePlan plan;
  plan.input = input;
  plan.fit = options.fit;
  if (!is_floating(input.type) && input.type != DataType::kUint8)
    return Error{Code::kInvalid, fmt::format("pictures cannot become input '{}' of type {}; give .npy or .npz files",
                                             input.name, data_type_name(input.type))};
  RIDGE_ASSIGN(plan.channels_first, channels_first(input, picture, options.layout));
  int64_t& height = picture[plan.channels_first ? 1 : 0];
  int64_t& width = picture[plan.channels_first ? 2 : 1];
  plan.channels = picture[plan.channels_first ? 0 : 2];
  if (!is_channel_count(plan.channels))
    return Error{Code::kInvalid, fmt::format("input '{}' of shape {} has {} channels, pictures have 1 or 3", input.name,
                                             shape_text(input.shape), plan.channels)};
  RIDGE_ASSIGN(plan.height, side(height, options.height, input));
  RIDGE_ASSIGN(plan.width, side(width, options.width, input));
  height = plan.height;
  width = plan.width;
  if (input.shape.size() == 4) picture.insert(picture.begin(), 1);
  plan.input.shape = picture;
  RIDGE_ASSIGN(plan.mean, per_channel(options.mean, kImageNetMean, 0, plan.channels, "--image-mean"));
  RIDGE_ASSIGN(plan.deviation, per_channel(options.deviation, kImageNetDeviation, 1, plan.channels, "--image-std"));
  if (std::any_of(plan.deviation.begin(), plan.deviation.end(), [](double value) { return value <= 0; }))
    return Error{Code::kInvalid, "--image-std must be above 0"};
  return plan;
}

std::string describe(const ImagePlan& plan) {
  const char* colours = plan.channels == 1 ? "grey" : "RGB";
  std::string text = plan.fit == ImageFit::kStretch
                         ? fmt::format("stretched to {} × {} pixels, {}", plan.height, plan.width, colours)
                         : fmt::format("resized and cropped to the middle {} × {} pixels ({:.1f} % of each side), {}",
                                       plan.height, plan.width, 100 * kCropShare, colours);
  if (plan.input.type == DataType::kUint8) return text + ", values 0 to 255";
  return text + fmt::format(", (value/255 − [{}]) / [{}]", fmt::join(plan.mean, ", "), fmt::join(plan.deviation, ", "));
}

bool is_image_file(const std::string& path) {
  const std::string extension = lower_case(std::filesystem::path(path).extension().string());
  return extension == ".jpg" || extension == ".jpeg" || extension == ".png";
}

Result<Tensor> read_image(const std::string& path, const ImagePlan& plan) {
  RIDGE_ASSIGN(const std::string file, read_file(path));
  Result<Picture> picture = decode(file, static_cast<int>(plan.channels));
  if (!picture) return wrap(picture.error(), "read " + path);
  const Frame frame = frame_of(*picture, plan);
  if (frame.width > 16384 || frame.height > 16384)
    return Error{Code::kInvalid, fmt::format("read {}: a picture of {} × {} pixels is too narrow to be cropped; use "
                                             "--image-fit stretch",
                                             path, picture->width, picture->height)};
  Result<Picture> fitting = resized(*picture, frame.width, frame.height);
  if (!fitting) return wrap(fitting.error(), "read " + path);
  Tensor tensor = to_tensor(*fitting, frame, plan);
  if (tensor.type == plan.input.type) return tensor;
  return converted(tensor.view(), plan.input.type, path);
}

}  // namespace ridge::precision
