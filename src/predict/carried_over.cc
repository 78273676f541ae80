#include "predict/carried_over.h"

#include <algorithm>

#include "cost/operators.h"
#include "model/domains.h"

namespace ridge::predict {

// share: ResNet-50, INT8, scenario Offline, of 15 NVIDIA devices from Turing to Hopper in MLPerf Inference v0.7 to
// v3.0: the sum of layer_bounds() at batch 64 over the published time per image: 48 to 84 %, median 58 %.
// layer_seconds: scenario SingleStream of six of them, latency over 56 layers: 6.5 µs (L4) to 14.6 µs (T4).
// carried_over_test.cc has the rows.
CarriedOver carried_over(const catalogue::CatalogueDevice& device, Precision precision) {
  CarriedOver result{.share = {0.48, 0.6, 0.85}, .layer_seconds = {15e-6, 8e-6, 6e-6}};
  result.evidence.push_back(
      "assumed: 60 % of the layer-by-layer roofline (48 to 85 %), as ResNet-50 in INT8 reached on 15 NVIDIA devices in "
      "MLPerf Inference v0.7 to v3.0 (Offline)");
  result.evidence.push_back(
      "assumed: no layer takes less than 8 µs (6 to 15 µs), from SingleStream latencies of six devices in the same "
      "rounds");
  if (precision != Precision::kInt8)
    result.evidence.push_back(
        "carried over from INT8; guides name 60 to 88 % of the peak for large matrix multiplications in FP32 to BF16 "
        "(handbook "
        "L16) and 60 to 75 % of the bandwidth (L17)");
  if (device.vendor != "NVIDIA")
    result.evidence.push_back("no measurement of a device by " + device.vendor + " supports these shares");
  return result;
}

// Handbook L24: ResNet-50 on an RTX 4090 trains 1850, 2140, 2320, 2410 images/s at batch 64 to 512 in mixed precision,
// within 2 % of batch / (9.2 ms + batch / 2510). 9.2 ms over its 176 nodes in three passes are 17 µs each; 2510
// images/s are 43 % of the layer-by-layer roofline with FP32 accumulators. L25: mixed precision takes 38 % off the
// time, so FP32 reaches 54 % of its own. carried_over_test.cc checks both. The range is assumed: a quarter less to a
// quarter more.
CarriedOver carried_over_to_training(const catalogue::CatalogueDevice& device, Precision precision) {
  bool fp32 = precision == Precision::kFp32 || precision == Precision::kTf32;
  double likely = fp32 ? 0.54 : 0.43;
  CarriedOver result{.share = {0.75 * likely, likely, 1.25 * likely}, .layer_seconds = {22e-6, 17e-6, 13e-6}};
  result.evidence.push_back(std::string("assumed: ") + (fp32 ? "54" : "43") +
                            " % of the layer-by-layer roofline, ± a quarter, and 17 µs per node and pass: "
                            "fitted to ResNet-50 on an RTX "
                            "4090, handbook L24 and L25");
  if (device.name != "GeForce RTX 4090")
    result.evidence.push_back("training: carried over from that one device and model");
  return result;
}

std::vector<cost::Bound> layer_bounds(const cost::Costs& costs, const cost::DeviceLimits& limits) {
  cost::DeviceLimits without_cache = limits;
  if (!limits.levels.empty()) without_cache.levels = {limits.levels.back()};
  std::vector<cost::Bound> layers;
  for (const cost::NodeCost& node : costs.nodes) {
    bool moves = node.bytes_read + node.bytes_written > 0;
    // A name missing from Microsoft's domain is looked up in ONNX's.
    const bool fuses = cost::operator_of(model::kMicrosoft, node.op).is(cost::Trait::kFuses);
    if (!node.runs || !moves || (node.needed_flops <= 0 && fuses)) continue;
    layers.push_back(cost::bound(node, without_cache));
  }
  return layers;
}

Range predicted_ms(const std::vector<cost::Bound>& layers, const CarriedOver& efficiency) {
  auto ms = [&](double share, double least) {
    double sum_ms = 0;
    for (const cost::Bound& layer : layers) sum_ms += std::max(layer.ms / share, 1e3 * least);
    return sum_ms;
  };
  return {ms(efficiency.share.slow, efficiency.layer_seconds.slow),
          ms(efficiency.share.likely, efficiency.layer_seconds.likely),
          ms(efficiency.share.fast, efficiency.layer_seconds.fast)};
}

Range predicted_training_ms(const std::vector<cost::Bound>& layers, double nodes, double passes,
                            const CarriedOver& efficiency) {
  double sum_ms = 0;
  for (const cost::Bound& layer : layers) sum_ms += layer.ms;
  auto ms = [&](double share, double per_node) { return passes * (sum_ms / share + 1e3 * nodes * per_node); };
  return {ms(efficiency.share.slow, efficiency.layer_seconds.slow),
          ms(efficiency.share.likely, efficiency.layer_seconds.likely),
          ms(efficiency.share.fast, efficiency.layer_seconds.fast)};
}

BottleneckShares held_by(const std::vector<cost::Bound>& layers, const CarriedOver& efficiency) {
  BottleneckShares held;
  double least_ms = 1e3 * efficiency.layer_seconds.likely, sum_ms = 0;
  for (const cost::Bound& layer : layers) {
    double ms = layer.ms / efficiency.share.likely;
    sum_ms += std::max(ms, least_ms);
    if (ms < least_ms)
      held.start += least_ms;
    else
      (layer.limiter == cost::Limiter::kMemory ? held.memory : held.compute) += ms;
  }
  if (sum_ms <= 0) return {};
  return {held.compute / sum_ms, held.memory / sum_ms, held.start / sum_ms};
}

}  // namespace ridge::predict
