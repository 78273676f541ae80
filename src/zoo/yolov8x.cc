// YOLOv8x, detection: Ultralytics' export, with batch normalisation folded into the convolutions and the head's
// decoding included. Ultralytics, cfg/models/v8/yolov8.yaml at scale x (depth 1.00, width 1.25, at most 512 · 1.25
// channels) and nn/modules/head.py. 68,200,608 parameters fused, 257.8 GFLOP at 640 x 640 (Ultralytics, model.info()).
#include <array>
#include <cmath>
#include <numeric>

#include "zoo/builder.h"
#include "zoo/models.h"
#include "zoo/shape_words.h"

namespace ridge::zoo {
namespace {

constexpr int64_t kClasses = 80;
constexpr int64_t kBins = 16;         // reg_max: bins of each side's distance
constexpr int64_t kBoxWidth = 80;     // c2 = max(16, 320 / 4, 4 · 16)
constexpr int64_t kClassWidth = 320;  // c3 = max(320, min(80, 100))
constexpr std::array<int64_t, 3> kStrides = {8, 16, 32};

// Ultralytics' Conv: convolution and SiLU.
Feature conv(GraphBuilder& b, const std::string& path, const Feature& x, int64_t out, int64_t kernel,
             int64_t stride = 1, float scale = 1) {
  Feature y = b.conv(path + ".conv", x, out, {.kernel = kernel, .stride = stride, .gain = kSiluGain * scale});
  return {b.silu(path + ".act", y.value), out};
}

Feature concat_features(GraphBuilder& b, const std::string& path, const std::vector<Feature>& parts) {
  std::vector<Value> values;
  int64_t channels = 0;
  for (const Feature& part : parts) {
    values.push_back(part.value);
    channels += part.channels;
  }
  return {b.concat(path, std::move(values), 1), channels};
}

Feature c2f_bottleneck(GraphBuilder& b, const std::string& path, const Feature& x, bool shortcut) {
  Feature y = conv(b, path + ".cv1", x, x.channels, 3);
  y = conv(b, path + ".cv2", y, x.channels, 3, 1, shortcut ? kResidualScale : 1);
  if (shortcut) y.value = b.add(path, x.value, y.value);
  return y;
}

Feature c2f(GraphBuilder& b, const std::string& path, const Feature& x, int64_t out, int64_t blocks, bool shortcut) {
  const int64_t half = out / 2;
  Feature both = conv(b, path + ".cv1", x, out, 1);
  std::vector<Value> halves = b.nodes(path, "Split", {both.value, b.integers({half, half})}, 2, {{"axis", int64_t{1}}});
  std::vector<Feature> parts = {{halves[0], half}, {halves[1], half}};
  for (int64_t block = 0; block < blocks; ++block)
    parts.push_back(c2f_bottleneck(b, path + ".m." + std::to_string(block), parts.back(), shortcut));
  return conv(b, path + ".cv2", concat_features(b, path, parts), out, 1);
}

// Spatial pyramid pooling, fast form.
Feature sppf(GraphBuilder& b, const std::string& path, const Feature& x, int64_t out) {
  std::vector<Feature> parts = {conv(b, path + ".cv1", x, x.channels / 2, 1)};
  for (int i = 0; i < 3; ++i) {
    Value pooled = b.node(path + ".m", "MaxPool", {parts.back().value},
                          {{"kernel_shape", std::vector<int64_t>{5, 5}},
                           {"pads", std::vector<int64_t>{2, 2, 2, 2}},
                           {"strides", std::vector<int64_t>{1, 1}}});
    parts.push_back({pooled, x.channels / 2});
  }
  return conv(b, path + ".cv2", concat_features(b, path, parts), out, 1);
}

Feature upsample(GraphBuilder& b, const std::string& path, const Feature& x) {
  Value scales = path + ".scales";
  b.table(scales, {4}, {1, 1, 2, 2});
  Value y = b.node(path, "Resize", {x.value, "", scales},
                   {{"coordinate_transformation_mode", std::string("asymmetric")},
                    {"mode", std::string("nearest")},
                    {"nearest_mode", std::string("floor")}});
  return {y, x.channels};
}

// Features at strides 8, 16 and 32. Layer numbers are those of yolov8.yaml.
std::array<Feature, 3> backbone_and_neck(GraphBuilder& b, Feature x) {
  x = conv(b, "model.0", x, 80, 3, 2);
  x = c2f(b, "model.2", conv(b, "model.1", x, 160, 3, 2), 160, 3, true);
  Feature p3 = c2f(b, "model.4", conv(b, "model.3", x, 320, 3, 2), 320, 6, true);
  Feature p4 = c2f(b, "model.6", conv(b, "model.5", p3, 640, 3, 2), 640, 6, true);
  x = c2f(b, "model.8", conv(b, "model.7", p4, 640, 3, 2), 640, 3, true);
  Feature p5 = sppf(b, "model.9", x, 640);
  Feature up4 = c2f(b, "model.12", concat_features(b, "model.11", {upsample(b, "model.10", p5), p4}), 640, 3, false);
  Feature n3 = c2f(b, "model.15", concat_features(b, "model.14", {upsample(b, "model.13", up4), p3}), 320, 3, false);
  Feature n4 =
      c2f(b, "model.18", concat_features(b, "model.17", {conv(b, "model.16", n3, 320, 3, 2), up4}), 640, 3, false);
  Feature n5 =
      c2f(b, "model.21", concat_features(b, "model.20", {conv(b, "model.19", n4, 640, 3, 2), p5}), 640, 3, false);
  return {n3, n4, n5};
}

// One branch of the head: two convolutions, then a plain one to `out` channels.
Feature branch(GraphBuilder& b, const std::string& path, const Feature& x, int64_t width, int64_t out) {
  Feature y = conv(b, path + ".1", conv(b, path + ".0", x, width, 3), width, 3);
  return b.conv(path + ".2", y, out, {.kernel = 1, .gain = kSiluGain});
}

// Cell centres, in cells: x of every anchor, then y; and the stride [pixels] of every anchor.
struct Anchors {
  std::vector<float> centres;
  std::vector<float> strides;
};

Anchors anchors(int64_t image_size) {
  Anchors made;
  std::vector<float> rows;
  for (int64_t stride : kStrides) {
    const int64_t cells = image_size / stride;
    for (int64_t cell = 0; cell < cells * cells; ++cell) {
      made.centres.push_back(static_cast<float>(cell % cells) + 0.5F);
      rows.push_back(static_cast<float>(cell / cells) + 0.5F);
      made.strides.push_back(static_cast<float>(stride));
    }
  }
  made.centres.insert(made.centres.end(), rows.begin(), rows.end());
  return made;
}

// Expected distance of each side: softmax over the bins, then their mean (distribution focal loss head).
Value distances(GraphBuilder& b, const std::string& path, const Value& boxes, int64_t count) {
  std::vector<float> bins(kBins);
  std::iota(bins.begin(), bins.end(), 0.0F);
  Value weight = b.table(path + ".conv.weight", {1, kBins, 1, 1}, bins, true);
  Value split = b.transpose(path, b.reshape(path, boxes, {0, 4, kBins, count}), {0, 2, 1, 3});
  Value share = b.node(path, "Softmax", {split}, {{"axis", int64_t{1}}});
  return b.reshape(path, b.node(path + ".conv", "Conv", {share, weight}), {0, 4, count});
}

// Distances to the four sides [batch, 4, anchors] → centre and size [batch, 4, anchors], in pixels.
Value decode_boxes(GraphBuilder& b, const std::string& path, const Value& sides, int64_t image_size, int64_t count) {
  Anchors table = anchors(image_size);
  Value centre = b.table(path + ".anchors", {1, 2, count}, std::move(table.centres));
  Value stride = b.table(path + ".strides", {1, count}, std::move(table.strides));
  std::vector<Value> corner = b.nodes(path, "Split", {sides, b.integers({2, 2})}, 2, {{"axis", int64_t{1}}});
  Value least = b.node(path, "Sub", {centre, corner[0]});
  Value most = b.add(path, centre, corner[1]);
  Value middle = b.node(path, "Div", {b.add(path, least, most), b.real(2)});
  Value size = b.node(path, "Sub", {most, least});
  return b.mul(path, b.concat(path, {middle, size}, 1), stride);
}

}  // namespace

Blueprint yolov8x(const ZooOptions& options) {
  const int64_t size = options.image_size == 0 ? 640 : options.image_size;
  const Dimension batch = batch_dimension(options);
  GraphBuilder b("yolov8x", options.opset);
  Feature image = {b.input("images", DataType::kFp32, {batch, int64_t{3}, size, size}), 3};
  std::array<Feature, 3> levels = backbone_and_neck(b, image);
  const std::string head = "model.22";
  std::vector<Value> per_level;
  int64_t count = 0;
  for (size_t i = 0; i < levels.size(); ++i) {
    const std::string number = std::to_string(i);
    const int64_t cells = size / kStrides[i];
    Feature boxes = branch(b, head + ".cv2." + number, levels[i], kBoxWidth, 4 * kBins);
    Feature classes = branch(b, head + ".cv3." + number, levels[i], kClassWidth, kClasses);
    Feature both = concat_features(b, head, {boxes, classes});
    per_level.push_back(b.reshape(head, both.value, {0, both.channels, cells * cells}));
    count += cells * cells;
  }
  std::vector<Value> parts = b.nodes(head, "Split", {b.concat(head, per_level, 2), b.integers({4 * kBins, kClasses})},
                                     2, {{"axis", int64_t{1}}});
  Value boxes = decode_boxes(b, head, distances(b, head + ".dfl", parts[0], count), size, count);
  Value scores = b.node(head, "Sigmoid", {parts[1]});
  b.output(b.concat(head, {boxes, scores}, 1, "output0"), DataType::kFp32, {batch, 4 + kClasses, count});
  return b.blueprint();
}

}  // namespace ridge::zoo
