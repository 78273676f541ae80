#include "predict/calibration_suite.h"

#include <algorithm>
#include <cmath>

#include "predict/calibration_builder.h"

namespace ridge::predict {
namespace {

using zoo::Blueprint;

// ------------------------------------------------------------------------------------------------ convolutions

// Typical successors in a convolutional network; each returns the new end of the chain.
ShapedValue inception(CalibrationBuilder& b, Dice& dice, const ShapedValue& x, const std::string& act) {
  const int64_t c = x.shape[1];
  ShapedValue one = b.convolution(x, {.out = dice.channels(16, std::max<int64_t>(32, c / 2)), .activation = act});
  ShapedValue three = b.convolution(x, {.out = dice.channels(16, std::max<int64_t>(32, c / 2)), .activation = act});
  three = b.convolution(three, {.out = dice.channels(16, 192), .kernel = 3, .activation = act});
  ShapedValue pooled = b.convolution(b.pool("MaxPool", x, 3, 1), {.out = dice.channels(16, 96), .activation = act});
  return b.concat({one, three, pooled}, 1);
}

ShapedValue bottleneck(CalibrationBuilder& b, Dice& dice, const ShapedValue& x, const std::string& act) {
  const int64_t c = x.shape[1], middle = dice.channels(c / 4, c);
  ShapedValue y = b.convolution(x, {.out = middle, .activation = act});
  y = b.convolution(y, {.out = middle, .kernel = 3, .activation = act});
  y = b.convolution(y, {.out = c});
  return b.activation(b.binary("Add", y, x), act);
}

ShapedValue next_layer(CalibrationBuilder& b, Dice& dice, const ShapedValue& x, const std::string& act) {
  const int64_t c = x.shape[1];
  switch (dice.below(8)) {
    case 0: return b.convolution(x, {.out = std::min<int64_t>(dice.channels(c, 4 * c), 2048), .activation = act});
    case 1: return b.convolution(x, {.out = dice.channels(c / 4, c), .activation = act});
    case 2: return b.convolution(x, {.out = c, .activation = act});
    case 3: {
      ShapedValue y = b.convolution(x, {.out = dice.channels(16, std::max<int64_t>(32, c / 6)), .activation = act});
      return b.convolution(y, {.out = dice.channels(16, 128), .kernel = 5, .activation = act});
    }
    case 4: return bottleneck(b, dice, x, act);
    case 5: return inception(b, dice, x, act);
    default: {
      const int64_t most = std::min<int64_t>(c, 512);
      return b.convolution(x, {.out = dice.channels(most / 2, most * 3 / 2), .kernel = 3, .activation = act});
    }
  }
}

ShapedValue smaller(CalibrationBuilder& b, Dice& dice, const ShapedValue& x, const std::string& act) {
  const int64_t kind = dice.below(4), out = std::min<int64_t>(dice.channels(x.shape[1], 2 * x.shape[1]), 1024);
  if (kind < 2) return b.pool("MaxPool", x, kind == 0 ? 3 : 2, 2);
  return b.convolution(x, {.out = out, .kernel = kind == 2 ? 3 : 1, .stride = 2, .activation = act});
}

Blueprint convolutions(uint64_t seed, int64_t batch, int64_t size, const std::string& act) {
  Dice dice(seed);
  CalibrationBuilder b("convolutions");
  ShapedValue x = b.input({batch, 3, size, size});
  x = b.convolution(x,
                    {.out = dice.channels(16, 64), .kernel = dice.one_of({3, 5, 7}), .stride = 2, .activation = act});
  for (int layer = 0; layer < 24; ++layer)
    x = layer % 5 == 4 && x.shape[2] > 9 ? smaller(b, dice, x, act) : next_layer(b, dice, x, act);
  ShapedValue pooled = b.op("GlobalAveragePool", {x.value}, {batch, x.shape[1], 1, 1});
  ShapedValue flat = b.op("Flatten", {pooled.value}, {batch, x.shape[1]}, {{"axis", int64_t{1}}});
  b.output(b.gemm(flat, dice.one_of({10, 100, 500, 800})));
  return b.blueprint();
}

// Large images, x · sigmoid(x), splits and concatenations, as in detectors.
Blueprint detector(uint64_t seed, int64_t batch, int64_t size, int64_t width) {
  Dice dice(seed);
  CalibrationBuilder b("detector");
  ShapedValue y =
      b.convolution(b.input({batch, 3, size, size}), {.out = width, .kernel = 3, .stride = 2, .activation = "silu"});
  for (int stage = 0; stage < 4; ++stage) {
    y = b.convolution(y,
                      {.out = std::min<int64_t>(2 * y.shape[1], 640), .kernel = 3, .stride = 2, .activation = "silu"});
    const int64_t c = y.shape[1];
    std::vector<ShapedValue> halves = b.split(b.convolution(y, {.out = c, .activation = "silu"}), 1, 2);
    ShapedValue z = b.convolution(halves[1], {.out = c / 2, .kernel = 3, .activation = "silu"});
    z = b.binary("Add", b.convolution(z, {.out = c / 2, .kernel = 3, .activation = "silu"}), halves[1]);
    y = b.convolution(b.concat({halves[0], halves[1], z}, 1), {.out = c, .activation = "silu"});
  }
  Shape twice = {batch, y.shape[1], 2 * y.shape[2], 2 * y.shape[3]};
  ShapedValue up =
      b.op("Resize", {y.value, "", b.reals({1, 1, 2, 2})}, twice,
           {{"mode", "nearest"}, {"coordinate_transformation_mode", "asymmetric"}, {"nearest_mode", "floor"}});
  b.output(b.convolution(up, {.out = 80}));
  b.output(b.convolution(b.pool("MaxPool", y, 5, 1), {.out = dice.channels(32, 96)}));
  return b.blueprint();
}

// First layers on three channels, with every usual window.
Blueprint first_layers(uint64_t seed, int64_t batch, int64_t size) {
  Dice dice(seed);
  CalibrationBuilder b("first layers");
  ShapedValue x = b.input({batch, 3, size, size});
  const std::vector<std::pair<int64_t, int64_t>> windows = {{3, 1}, {3, 2}, {5, 2}, {7, 2}, {11, 4}, {3, 2}};
  for (auto [kernel, stride] : windows) {
    ShapedValue y =
        b.convolution(x, {.out = dice.channels(16, 96), .kernel = kernel, .stride = stride, .activation = "Relu"});
    y = b.pool("MaxPool", y, dice.one_of({2, 3}), 2);
    b.output(b.op("GlobalAveragePool", {y.value}, {batch, y.shape[1], 1, 1}));
  }
  return b.blueprint();
}

// Depthwise and grouped convolutions, and channels that fill no blocks, with the shuffles between them.
Blueprint grouped(uint64_t seed, int64_t batch, int64_t size, const std::vector<int64_t>& widths) {
  Dice dice(seed);
  CalibrationBuilder b("grouped");
  ShapedValue y =
      b.convolution(b.input({batch, 3, size, size}), {.out = 24, .kernel = 3, .stride = 2, .activation = "Relu"});
  y = b.pool("MaxPool", y, 3, 2);
  for (int64_t width : widths) {
    const int64_t group = dice.one_of({2, 3, 4, 8});
    const int64_t c = (width + 4 * group - 1) / (4 * group) * 4 * group;
    if (y.shape[1] % group != 0) y = b.convolution(y, {.out = c, .activation = "Relu"});
    ShapedValue z = b.convolution(y, {.out = c, .group = group, .activation = "Relu"});
    const Shape whole = z.shape;
    const Shape parts = {batch, group, c / group, whole[2], whole[3]},
                swapped = {batch, c / group, group, whole[2], whole[3]};
    z = b.op("Reshape", {z.value, b.integers(parts)}, parts);
    z = b.op("Transpose", {z.value}, swapped, {{"perm", std::vector<int64_t>{0, 2, 1, 3, 4}}});
    z = b.op("Reshape", {z.value, b.integers(whole)}, whole);
    const int64_t stride = y.shape[2] > 12 && dice.below(3) == 0 ? 2 : 1;
    z = b.convolution(z, {.out = c, .kernel = dice.one_of({3, 3, 5}), .stride = stride, .group = c});
    z = b.convolution(z, {.out = c, .group = group});
    if (stride == 2) {
      y = b.unary("Relu", b.concat({b.pool("AveragePool", y, 3, 2), z}, 1));
    } else {
      y = y.shape[1] == c ? b.activation(b.op("Sum", {z.value, y.value}, z.shape), "Relu") : z;
    }
  }
  b.output(b.pool("AveragePool", y, 3, 1));
  return b.blueprint();
}

// Depthwise, scales and offsets per channel between convolutions in blocks.
Blueprint mobile(uint64_t seed, int64_t batch, int64_t size) {
  Dice dice(seed);
  CalibrationBuilder b("mobile");
  ShapedValue y = b.convolution(b.input({batch, 3, size, size}),
                                {.out = dice.channels(16, 48), .kernel = 3, .stride = 2, .activation = "Relu"});
  for (int layer = 0; layer < 7; ++layer) {
    const int64_t c = y.shape[1], stride = y.shape[2] > 12 && layer % 2 == 1 ? 2 : 1;
    y = b.convolution(y,
                      {.out = c, .kernel = dice.one_of({3, 3, 5}), .stride = stride, .group = c, .activation = "Relu"});
    y = b.op("BatchNormalization",
             {b.unary("Sigmoid", y).value, b.weight({c}), b.weight({c}), b.weight({c}), b.weight({c}, 1)}, y.shape,
             {{"epsilon", 1e-5F}});
    y = b.op("Mul", {y.value, b.weight({c, 1, 1})}, y.shape);
    y = b.op("Add", {y.value, b.weight({c, 1, 1})}, y.shape);
    y = b.convolution(b.unary("Relu", y),
                      {.out = std::min<int64_t>(dice.channels(c, 2 * c), 768), .activation = "Relu"});
    if (layer % 3 == 2) y = b.pool("AveragePool", y, 3, 1);
  }
  const int64_t c = y.shape[1];
  y = b.convolution(y, {.out = c / 32 * 32 == c ? c : c + 16, .kernel = 3, .activation = "Sigmoid"});
  b.output(b.op("GlobalAveragePool", {b.pool("AveragePool", y, 2, 2).value}, {batch, y.shape[1], 1, 1}));
  return b.blueprint();
}

// ---------------------------------------------------------------------------------------------------- products

Blueprint dense(uint64_t seed, int64_t batch, int layers) {
  Dice dice(seed);
  CalibrationBuilder b("dense");
  ShapedValue x = b.input({batch, dice.one_of({512, 1024, 2048, 4096, 6000})});
  for (int layer = 0; layer < layers; ++layer) {
    int64_t out = dice.one_of({64, 256, 500, 1100, 1536, 2048, 3000, 5000, 8192, 12288});
    if (out * x.shape.back() > 40'000'000) out = 1100;
    x = b.gemm(x, out);
    if (dice.below(3) > 0) x = b.unary("Relu", x);
  }
  b.output(b.op("Softmax", {x.value}, x.shape, {{"axis", int64_t{-1}}}));
  return b.blueprint();
}

struct Encoder {
  int64_t batch = 1, sequence = 32, width = 256, heads = 4;
  bool open = false;
};

ShapedValue normalised(CalibrationBuilder& b, const ShapedValue& x) {
  const int64_t width = x.shape.back();
  return b.op("LayerNormalization", {x.value, b.weight({width}), b.weight({width})}, x.shape,
              {{"axis", int64_t{-1}}, {"epsilon", 1e-5F}});
}

ShapedValue gelu(CalibrationBuilder& b, const ShapedValue& x) {
  ShapedValue y = b.op("Div", {x.value, b.real(1.4142135F)}, x.shape);
  y = b.op("Add", {b.unary("Erf", y).value, b.real(1)}, x.shape);
  return b.op("Mul", {b.binary("Mul", x, y).value, b.real(0.5F)}, x.shape);
}

ShapedValue heads(CalibrationBuilder& b, const ShapedValue& x, const Encoder& e, bool swapped) {
  const int64_t size = e.width / e.heads;
  ShapedValue split =
      b.op("Reshape", {x.value, b.integers({0, 0, e.heads, size})}, {e.batch, e.sequence, e.heads, size});
  if (swapped)
    return b.op("Transpose", {split.value}, {e.batch, e.heads, size, e.sequence},
                {{"perm", std::vector<int64_t>{0, 2, 3, 1}}});
  return b.op("Transpose", {split.value}, {e.batch, e.heads, e.sequence, size},
              {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
}

// Attention and two dense layers, as in exports of encoders.
Blueprint encoder(const Encoder& e, int layers) {
  CalibrationBuilder b("encoder", e.open);
  ShapedValue x = b.input({e.batch, e.sequence, e.width});
  ShapedValue mask = b.input({e.batch, 1, 1, e.sequence});
  for (int layer = 0; layer < layers; ++layer) {
    ShapedValue query = heads(b, b.linear(x, e.width), e, false), key = heads(b, b.linear(x, e.width), e, true);
    ShapedValue value = heads(b, b.linear(x, e.width), e, false);
    const Shape pairs = {e.batch, e.heads, e.sequence, e.sequence};
    ShapedValue scores = b.op("MatMul", {query.value, key.value}, pairs);
    scores = b.op("Div", {scores.value, b.real(std::sqrt(static_cast<float>(e.width / e.heads)))}, pairs);
    ShapedValue share = b.op("Softmax", {b.binary("Add", scores, mask).value}, pairs, {{"axis", int64_t{-1}}});
    ShapedValue mixed = b.op("MatMul", {share.value, value.value}, query.shape);
    mixed = b.op("Transpose", {mixed.value}, {e.batch, e.sequence, e.heads, e.width / e.heads},
                 {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
    mixed = b.op("Reshape", {mixed.value, b.integers({0, 0, e.width})}, x.shape);
    ShapedValue y = normalised(b, b.binary("Add", b.linear(mixed, e.width), x));
    x = normalised(b, b.binary("Add", b.linear(gelu(b, b.linear(y, 4 * e.width)), e.width), y));
  }
  b.output(x);
  return b.blueprint();
}

// -------------------------------------------------------------------------------------------- everything else

ShapedValue elementwise(CalibrationBuilder& b, ShapedValue y, const ShapedValue& x) {
  const int64_t c = x.shape[1];
  for (const char* name : {"Relu", "Sigmoid", "Tanh", "HardSwish", "LeakyRelu", "Elu", "Exp", "Sqrt", "HardSigmoid",
                           "Softplus", "Neg", "Abs", "Erf"})
    y = b.unary(name, y);
  for (const char* name : {"Add", "Mul", "Div", "Sub"}) y = b.binary(name, y, x);
  y = b.op("Clip", {y.value, b.real(0), b.real(6)}, y.shape);
  y = b.op("Sum", {y.value, x.value}, y.shape);
  y = b.op("Mul", {y.value, b.weight({c, 1, 1})}, y.shape);
  y = b.op("Add", {y.value, b.weight({c, 1, 1})}, y.shape);
  y = b.op("Mul", {y.value, b.real(1.5F)}, y.shape);
  y = b.op("Pow", {y.value, b.real(2)}, y.shape);
  y = b.op("PRelu", {y.value, b.weight({c, 1, 1})}, y.shape);
  return b.activation(b.unary("Relu", y), "silu");
}

ShapedValue moved(CalibrationBuilder& b, ShapedValue y, const ShapedValue& x) {
  const int64_t n = x.shape[0], c = x.shape[1], h = x.shape[2], w = x.shape[3];
  y = b.op("Transpose", {y.value}, {n, h, w, c}, {{"perm", std::vector<int64_t>{0, 2, 3, 1}}});
  y = b.op("Transpose", {b.unary("Tanh", y).value}, {n, c, h, w}, {{"perm", std::vector<int64_t>{0, 3, 1, 2}}});
  y = b.op("Reshape", {b.unary("Tanh", y).value, b.integers({n, 4, c / 4, h, w})}, {n, 4, c / 4, h, w});
  y = b.op("Transpose", {y.value}, {n, c / 4, 4, h, w}, {{"perm", std::vector<int64_t>{0, 2, 1, 3, 4}}});
  y = b.op("Reshape", {y.value, b.integers({n, c, h, w})}, {n, c, h, w});
  std::vector<ShapedValue> halves = b.split(b.concat({y, x}, 1), 1, 2);
  return b.binary("Add", halves[0], halves[1]);
}

void end_images(CalibrationBuilder& b, const ShapedValue& y) {
  const int64_t n = y.shape[0], c = y.shape[1], h = y.shape[2], w = y.shape[3];
  b.output(b.op("Slice", {y.value, b.integers({0}), b.integers({c / 2}), b.integers({1})}, {n, c / 2, h, w}));
  b.output(b.op("ReduceMean", {y.value}, {n, c, 1, 1}, {{"axes", std::vector<int64_t>{2, 3}}}));
  b.output(b.op("GlobalAveragePool", {y.value}, {n, c, 1, 1}));
  b.output(b.pool("MaxPool", y, 3, 1));
  b.output(b.pool("MaxPool", y, 3, 2));
  b.output(b.pool("AveragePool", y, 3, 2));
  b.output(b.op("Softmax", {y.value}, y.shape, {{"axis", int64_t{1}}}));
  b.output(b.op("Resize", {y.value, "", b.reals({1, 1, 2, 2})}, {n, c, 2 * h, 2 * w},
                {{"mode", "nearest"}, {"coordinate_transformation_mode", "asymmetric"}, {"nearest_mode", "floor"}}));
  b.output(b.op("Pad", {y.value, b.integers({0, 0, 1, 1, 0, 0, 1, 1})}, {n, c, h + 2, w + 2}));
}

Blueprint images(int64_t batch, int64_t channels, int64_t size) {
  CalibrationBuilder b("images");
  ShapedValue x = b.input({batch, channels, size, size});
  ShapedValue y = elementwise(b, x, x);
  const Shape c = {channels};
  y = b.op("BatchNormalization", {y.value, b.weight(c), b.weight(c), b.weight(c), b.weight(c, 1)}, y.shape,
           {{"epsilon", 1e-5F}});
  y = b.op("InstanceNormalization", {y.value, b.weight(c), b.weight(c)}, y.shape, {{"epsilon", 1e-5F}});
  y = b.op("LRN", {y.value}, y.shape, {{"size", int64_t{5}}, {"alpha", 1e-4F}, {"beta", 0.75F}});
  end_images(b, moved(b, b.unary("Abs", y), x));
  return b.blueprint();
}

// Lookup tables, long rows.
Blueprint tokens(int64_t batch, int64_t sequence, int64_t width) {
  CalibrationBuilder b("tokens");
  ShapedValue ids = b.input({batch, sequence}, DataType::kInt64);
  const Shape shape = {batch, sequence, width};
  ShapedValue x = b.op("Gather", {b.weight({20000, width}), ids.value}, shape);
  ShapedValue places = b.op("Gather", {b.weight({1000, width}), ids.value}, shape);
  x = normalised(b, b.unary("Tanh", b.binary("Add", x, places)));
  x = b.op("Add", {x.value, b.weight({width})}, shape);
  x = b.op("Mul", {x.value, b.weight({1, 1, width})}, shape);
  x = b.op("Softmax", {x.value}, shape, {{"axis", int64_t{-1}}});
  x = normalised(b, b.unary("Relu", x));
  ShapedValue mean = b.op("ReduceMean", {x.value}, {batch, sequence, 1}, {{"axes", std::vector<int64_t>{-1}}});
  b.output(b.op("Sub", {x.value, mean.value}, shape));
  b.output(b.op("Transpose", {x.value}, {batch, width, sequence}, {{"perm", std::vector<int64_t>{0, 2, 1}}}));
  return b.blueprint();
}

}  // namespace

std::vector<CalibrationModel> calibration_suite() {
  std::vector<CalibrationModel> suite;
  auto add = [&](const std::string& name, Blueprint blueprint, int64_t batch = 1) {
    suite.push_back({name, std::move(blueprint), batch});
  };
  struct Net {
    int64_t batch, size;
    const char* activation;
  };
  const std::vector<Net> nets = {{1, 224, "Relu"}, {1, 208, "Relu"}, {2, 192, "Relu"}, {1, 160, ""},
                                 {1, 240, "Relu"}, {4, 200, "Relu"}, {1, 176, "Relu"}, {1, 136, "silu"},
                                 {4, 128, "Relu"}, {3, 272, "Relu"}};
  for (size_t i = 0; i < nets.size(); ++i)
    add("convolutions " + std::to_string(i), convolutions(100 + i, nets[i].batch, nets[i].size, nets[i].activation));
  const std::vector<Encoder> encoders = {{1, 32, 512, 8, false},   {1, 96, 384, 6, true},   {2, 160, 512, 8, true},
                                         {1, 256, 1024, 16, true}, {4, 64, 640, 10, false}, {1, 512, 256, 4, true},
                                         {3, 200, 896, 14, true}};
  for (size_t i = 0; i < encoders.size(); ++i)
    add("encoder " + std::to_string(i), encoder(encoders[i], 2), encoders[i].batch);
  const std::vector<int64_t> rows = {1, 1, 2, 4, 8, 3};
  for (size_t i = 0; i < rows.size(); ++i) add("dense " + std::to_string(i), dense(200 + i, rows[i], i == 1 ? 20 : 10));
  add("detector 0", detector(300, 1, 512, 48));
  add("detector 1", detector(301, 1, 384, 80));
  add("detector 2", detector(302, 2, 448, 32));
  for (int64_t i = 0; i < 3; ++i) {
    add("first layers " + std::to_string(i), first_layers(400 + static_cast<uint64_t>(i), 1 + i, 256 - 48 * i));
    add("mobile " + std::to_string(i), mobile(500 + static_cast<uint64_t>(i), 1 + i, 240 - 40 * i));
  }
  add("grouped 0", grouped(600, 1, 192, {60, 120, 200, 240}));
  add("grouped 1", grouped(601, 2, 240, {48, 96, 180, 400}));
  add("grouped 2", grouped(602, 4, 160, {80, 168, 320, 512}));
  add("images 0", images(1, 32, 14));
  add("images 1", images(1, 96, 28));
  add("images 2", images(2, 64, 56));
  add("images 3", images(1, 48, 112));
  add("images 4", images(1, 256, 10));
  add("images 5", images(3, 80, 120));
  add("tokens 0", tokens(1, 64, 320));
  add("tokens 1", tokens(2, 192, 640));
  add("tokens 2", tokens(4, 400, 1024));
  return suite;
}

Blueprint block_probe() {
  CalibrationBuilder b("probe");
  b.output(b.convolution(b.input({1, kProbeFilters, 8, 8}), {.out = kProbeFilters, .kernel = 3}));
  return b.blueprint();
}

}  // namespace ridge::predict
