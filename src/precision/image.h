// A picture file as a model's input: decoded, resized, cropped, normalised.
//
// stb decodes (JPEG, PNG) and resizes. The defaults are those of image classifiers' training: the shorter side is
// resized to the model's size ÷ 0.875, the middle is cropped, and each channel is (value/255 − mean) ÷ deviation with
// ImageNet's statistics (PyTorch, torchvision.models: "resize_size=256, crop_size=224", mean 0.485 0.456 0.406, std
// 0.229 0.224 0.225). Models trained otherwise need the options.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/tensor.h"

namespace ridge::precision {

enum class ImageLayout { kFromShape, kChannelsFirst, kChannelsLast };
enum class ImageFit {
  kCrop,     // keeps the proportions; crops the rest
  kStretch,  // the whole picture, its proportions changed
};

struct ImageOptions {
  int64_t height = 0, width = 0;  // [pixels] of the model's input; 0: from the input's shape
  std::vector<double> mean;       // per channel or one for all, of values in [0, 1]; empty: ImageNet's (RGB), 0 (grey)
  std::vector<double> deviation;  // likewise; empty: ImageNet's (RGB), 1 (grey)
  ImageLayout layout = ImageLayout::kFromShape;
  ImageFit fit = ImageFit::kCrop;
};

// "224" or "224x320" (height x width) → into `options`; "0.5" or "0.485,0.456,0.406" → one or three numbers.
Status parse_image_size(const std::string& text, ImageOptions& options);
Result<std::vector<double>> parse_channel_values(const std::string& text);

// Converts pictures to one row of the input: checked once, used for every file.
struct ImagePlan {
  TensorSpec input;  // shape of one picture, complete
  int64_t height = 0, width = 0, channels = 0;
  bool channels_first = true;
  std::vector<double> mean, deviation;  // per channel
  ImageFit fit = ImageFit::kCrop;
};

// `input`: rank 4, or 3 without a batch; open dimensions missing from `options` are an error, as is a type that is
// neither floating point nor UINT8 (which gets the values 0 … 255 unchanged).
Result<ImagePlan> plan_images(const TensorSpec& input, const ImageOptions& options);
// "resized to 256 and cropped to 224 × 224, RGB, (value/255 − [0.485, …]) / […]"; for the report.
std::string describe(const ImagePlan& plan);

bool is_image_file(const std::string& path);  // by its extension: .jpg, .jpeg, .png
Result<Tensor> read_image(const std::string& path, const ImagePlan& plan);

}  // namespace ridge::precision
