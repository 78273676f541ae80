// The U-Net of Stable Diffusion 1.5: one denoising step on latents, named as in diffusers' UNet2DConditionModel and its
// exports. Rombach et al., High-resolution image synthesis with latent diffusion models, 2022;
// runwayml/stable-diffusion-v1-5, unet/config.json. 859,520,964 parameters.
#include <array>
#include <cmath>

#include "zoo/builder.h"
#include "zoo/models.h"
#include "zoo/shape_words.h"

namespace ridge::zoo {
namespace {

constexpr int64_t kLatentChannels = 4;
constexpr int64_t kPixelsPerLatent = 8;
constexpr int64_t kHeads = 8;
constexpr int64_t kGroups = 32;
constexpr int64_t kTextTokens = 77;
constexpr int64_t kTextWidth = 768;
constexpr size_t kLevels = 4;
constexpr std::array<int64_t, kLevels> kMultiples = {1, 2, 4, 4};          // block_out_channels / 320
constexpr std::array<bool, kLevels> kAttends = {true, true, true, false};  // downwards; upwards it is the reverse
constexpr int64_t kBlocksDown = 2;
constexpr float kBlockEpsilon = 1e-5F;
constexpr float kAttentionEpsilon = 1e-6F;

class Unet {
 public:
  Unet(GraphBuilder& builder, int64_t channels, Value text) : b(builder), base_(channels), text_(std::move(text)) {}

  Feature denoise(const Feature& sample, const Value& timestep);

 private:
  Value time_embedding(const Value& timestep);
  Feature residual_block(const std::string& path, const Feature& x, int64_t out);
  Value attention(const std::string& path, const Value& x, int64_t width, const Value& context, int64_t context_width);
  Value feed_forward(const std::string& path, const Value& x, int64_t width);
  Feature transformer(const std::string& path, const Feature& x);
  Feature go_down(Feature x, std::vector<Feature>& skipped);
  Feature go_up(Feature x, std::vector<Feature>& skipped);
  float deviation(int64_t fan_in, float gain = kLinearGain) const {
    return gain / std::sqrt(static_cast<float>(fan_in));
  }

  GraphBuilder& b;
  int64_t base_;  // channels of the first level
  Value text_;
  Value time_;  // silu(time embedding) [batch, 4 · base]
};

// Sinusoids of the timestep, cosine first (flip_sin_to_cos), then two dense layers.
Value Unet::time_embedding(const Value& timestep) {
  const std::string path = "time_proj";
  const int64_t half = base_ / 2;
  const int64_t width = 4 * base_;
  Value steps = b.node(path, "Cast", {b.node(path, "Range", {b.integer(0), b.integer(half), b.integer(1)})},
                       {{"to", int64_t{1}}});
  Value rate = b.real(-std::log(10000.0F) / static_cast<float>(half));
  Value frequencies = b.node(path, "Exp", {b.mul(path, steps, rate)});
  Value time = b.node(path, "Unsqueeze", {b.node(path, "Cast", {timestep}, {{"to", int64_t{1}}}), b.integers({1})});
  Value angle = b.mul(path, time, frequencies);
  Value waves = b.concat(path, {b.node(path, "Cos", {angle}), b.node(path, "Sin", {angle})}, -1);
  Value x = b.silu("time_embedding.act", b.gemm("time_embedding.linear_1", waves, base_, width, kSiluGain));
  return b.silu("time_embedding.act_2", b.gemm("time_embedding.linear_2", x, width, width, kSiluGain));
}

Feature Unet::residual_block(const std::string& path, const Feature& x, int64_t out) {
  Feature y = b.group_norm(path + ".norm1", x, kGroups, kBlockEpsilon);
  y = b.conv(path + ".conv1", {b.silu(path + ".nonlinearity", y.value), y.channels}, out,
             {.kernel = 3, .gain = kSiluGain});
  Value shift = b.gemm(path + ".time_emb_proj", time_, 4 * base_, out, kLinearGain);
  y.value = b.add(path, y.value, b.node(path, "Unsqueeze", {shift, b.integers({2, 3})}));
  y = b.group_norm(path + ".norm2", y, kGroups, kBlockEpsilon);
  y = b.conv(path + ".conv2", {b.silu(path + ".nonlinearity", y.value), out}, out,
             {.kernel = 3, .gain = kSiluGain * kResidualScale});
  Feature shortcut = x.channels == out ? x : b.conv(path + ".conv_shortcut", x, out, {.kernel = 1});
  return {b.add(path, shortcut.value, y.value), out};
}

// x [batch, tokens, width] attends to context [batch, context tokens, context width].
Value Unet::attention(const std::string& path, const Value& x, int64_t width, const Value& context,
                      int64_t context_width) {
  const int64_t head_size = width / kHeads;
  auto heads = [&](const std::string& name, const Value& from, int64_t from_width, const std::vector<int64_t>& order) {
    Value all = b.linear(path + "." + name, from, from_width, width, deviation(from_width), false);
    return b.transpose(path, b.reshape(path, all, {0, 0, kHeads, head_size}), order);
  };
  Value query = heads("to_q", x, width, {0, 2, 1, 3});
  Value key = heads("to_k", context, context_width, {0, 2, 3, 1});
  Value value = heads("to_v", context, context_width, {0, 2, 1, 3});
  Value scale = b.real(1.0F / std::sqrt(static_cast<float>(head_size)));
  Value scores = b.mul(path, b.node(path, "MatMul", {query, key}), scale);
  Value share = b.node(path, "Softmax", {scores}, {{"axis", int64_t{-1}}});
  Value mixed = b.transpose(path, b.node(path, "MatMul", {share, value}), {0, 2, 1, 3});
  return b.linear(path + ".to_out.0", b.reshape(path, mixed, {0, 0, width}), width, width,
                  deviation(width, kResidualScale));
}

// GEGLU: one half gates the other.
Value Unet::feed_forward(const std::string& path, const Value& x, int64_t width) {
  const int64_t inner = 4 * width;
  const std::string gate = path + ".net.0";
  Value both = b.linear(gate + ".proj", x, width, 2 * inner, deviation(width));
  std::vector<Value> halves = b.nodes(gate, "Split", {both, b.integers({inner, inner})}, 2, {{"axis", int64_t{-1}}});
  Value gated = b.mul(gate, halves[0], b.gelu(gate, halves[1]));
  return b.linear(path + ".net.2", gated, inner, width, deviation(inner, kResidualScale));
}

Feature Unet::transformer(const std::string& path, const Feature& x) {
  const int64_t width = x.channels;
  constexpr float kNormEpsilon = 1e-5F;
  Feature y =
      b.conv(path + ".proj_in", b.group_norm(path + ".norm", x, kGroups, kAttentionEpsilon), width, {.kernel = 1});
  Value shape = b.node(path, "Shape", {y.value});
  Value tokens = b.reshape(path, b.transpose(path, y.value, {0, 2, 3, 1}), {0, -1, width});
  const std::string block = path + ".transformer_blocks.0";
  Value normal = b.layer_norm(block + ".norm1", tokens, width, kNormEpsilon);
  tokens = b.add(block, attention(block + ".attn1", normal, width, normal, width), tokens);
  normal = b.layer_norm(block + ".norm2", tokens, width, kNormEpsilon);
  tokens = b.add(block, attention(block + ".attn2", normal, width, text_, kTextWidth), tokens);
  normal = b.layer_norm(block + ".norm3", tokens, width, kNormEpsilon);
  tokens = b.add(block, feed_forward(block + ".ff", normal, width), tokens);
  Value image = b.node(path, "Reshape", {b.transpose(path, tokens, {0, 2, 1}), shape});
  y = b.conv(path + ".proj_out", {image, width}, width, {.kernel = 1, .gain = kResidualScale});
  return {b.add(path, y.value, x.value), width};
}

Feature Unet::go_down(Feature x, std::vector<Feature>& skipped) {
  skipped.push_back(x);
  for (size_t level = 0; level < kLevels; ++level) {
    const std::string path = "down_blocks." + std::to_string(level);
    for (int64_t block = 0; block < kBlocksDown; ++block) {
      x = residual_block(path + ".resnets." + std::to_string(block), x, base_ * kMultiples[level]);
      if (kAttends[level]) x = transformer(path + ".attentions." + std::to_string(block), x);
      skipped.push_back(x);
    }
    if (level + 1 == kLevels) break;
    x = b.conv(path + ".downsamplers.0.conv", x, x.channels, {.kernel = 3, .stride = 2});
    skipped.push_back(x);
  }
  return x;
}

Feature Unet::go_up(Feature x, std::vector<Feature>& skipped) {
  Value scales = b.table("up_blocks.scales", {4}, {1, 1, 2, 2});
  for (size_t step = 0; step < kLevels; ++step) {
    const size_t level = kLevels - 1 - step;
    const std::string path = "up_blocks." + std::to_string(step);
    for (int64_t block = 0; block <= kBlocksDown; ++block) {
      Feature both = {b.concat(path, {x.value, skipped.back().value}, 1), x.channels + skipped.back().channels};
      skipped.pop_back();
      x = residual_block(path + ".resnets." + std::to_string(block), both, base_ * kMultiples[level]);
      if (kAttends[level]) x = transformer(path + ".attentions." + std::to_string(block), x);
    }
    if (level == 0) break;
    x.value = b.node(path + ".upsamplers.0", "Resize", {x.value, "", scales},
                     {{"coordinate_transformation_mode", std::string("asymmetric")},
                      {"mode", std::string("nearest")},
                      {"nearest_mode", std::string("floor")}});
    x = b.conv(path + ".upsamplers.0.conv", x, x.channels, {.kernel = 3});
  }
  return x;
}

Feature Unet::denoise(const Feature& sample, const Value& timestep) {
  time_ = time_embedding(timestep);
  std::vector<Feature> skipped;
  Feature x = go_down(b.conv("conv_in", sample, base_, {.kernel = 3}), skipped);
  x = residual_block("mid_block.resnets.0", x, x.channels);
  x = transformer("mid_block.attentions.0", x);
  x = residual_block("mid_block.resnets.1", x, x.channels);
  x = go_up(x, skipped);
  x = b.group_norm("conv_norm_out", x, kGroups, kBlockEpsilon);
  x.value = b.silu("conv_act", x.value);
  return b.conv("conv_out", x, kLatentChannels, {.kernel = 3, .gain = kSiluGain});
}

}  // namespace

Blueprint sd_unet(const ZooOptions& options) {
  const int64_t side = (options.image_size == 0 ? 512 : options.image_size) / kPixelsPerLatent;
  const Dimension batch = batch_dimension(options);
  GraphBuilder b("sd-unet", options.opset);
  Feature sample = {b.input("sample", DataType::kFp32, {batch, kLatentChannels, side, side}), kLatentChannels};
  Value timestep = b.input("timestep", DataType::kInt64, {batch});
  Value text = b.input("encoder_hidden_states", DataType::kFp32, {batch, kTextTokens, kTextWidth});
  Feature noise = Unet(b, options.channels, text).denoise(sample, timestep);
  b.node("out", "Identity", {noise.value}, {}, "out_sample");
  b.output("out_sample", DataType::kFp32, {batch, kLatentChannels, side, side});
  return b.blueprint();
}

}  // namespace ridge::zoo
