// ResNet-50, version 1.5: as torchvision's resnet50, with the stride in the 3x3 convolution of a bottleneck.
// He et al., Deep residual learning for image recognition, 2015, table 1. 25,557,032 parameters (torchvision).
#include "zoo/builder.h"
#include "zoo/models.h"
#include "zoo/shape_words.h"

namespace ridge::zoo {
namespace {

Feature conv_bn(GraphBuilder& b, const std::string& conv, const std::string& norm, const Feature& x, int64_t out,
                int64_t kernel, int64_t stride, float gamma) {
  Feature y = b.conv(conv, x, out, {.kernel = kernel, .stride = stride, .bias = false, .gain = kReluGain});
  return b.batch_norm(norm, y, gamma);
}

Feature relu(GraphBuilder& b, const std::string& path, const Feature& x) {
  return {b.node(path, "Relu", {x.value}), x.channels};
}

Feature residual_bottleneck(GraphBuilder& b, const std::string& path, const Feature& x, int64_t width, int64_t stride) {
  constexpr int64_t kExpansion = 4;
  Feature y = relu(b, path, conv_bn(b, path + ".conv1", path + ".bn1", x, width, 1, 1, 1));
  y = relu(b, path, conv_bn(b, path + ".conv2", path + ".bn2", y, width, 3, stride, 1));
  y = conv_bn(b, path + ".conv3", path + ".bn3", y, width * kExpansion, 1, 1, kResidualScale);
  Feature shortcut = x;
  if (x.channels != y.channels)
    shortcut = conv_bn(b, path + ".downsample.0", path + ".downsample.1", x, y.channels, 1, stride, 0.7F);
  return relu(b, path, {b.add(path, y.value, shortcut.value), y.channels});
}

}  // namespace

Blueprint resnet50(const ZooOptions& options) {
  const int64_t size = options.image_size == 0 ? 224 : options.image_size;
  const Dimension batch = batch_dimension(options);
  GraphBuilder b("resnet50", options.opset);
  Feature x = {b.input("input", DataType::kFp32, {batch, int64_t{3}, size, size}), 3};
  x = relu(b, "relu", conv_bn(b, "conv1", "bn1", x, 64, 7, 2, 1));
  x.value = b.node("maxpool", "MaxPool", {x.value},
                   {{"kernel_shape", std::vector<int64_t>{3, 3}},
                    {"pads", std::vector<int64_t>{1, 1, 1, 1}},
                    {"strides", std::vector<int64_t>{2, 2}}});
  const int64_t blocks[] = {3, 4, 6, 3};
  for (int64_t stage = 0; stage < 4; ++stage)
    for (int64_t block = 0; block < blocks[stage]; ++block)
      x = residual_bottleneck(b, "layer" + std::to_string(stage + 1) + "." + std::to_string(block), x,
                              int64_t{64} << stage, stage > 0 && block == 0 ? 2 : 1);
  Value pooled = b.node("avgpool", "GlobalAveragePool", {x.value});
  Value flat = b.node("flatten", "Flatten", {pooled}, {{"axis", int64_t{1}}});
  b.output(b.gemm("fc", flat, x.channels, 1000, kReluGain, "output"), DataType::kFp32, {batch, int64_t{1000}});
  return b.blueprint();
}

}  // namespace ridge::zoo
