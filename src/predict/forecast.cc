#include "predict/forecast.h"

namespace ridge::predict {
namespace {

Forecast::Layer layer_of(const cost::NodeCost& node, const cost::DeviceLimits& limits) {
  cost::Bound bound = cost::bound(node, limits);
  return {.name = node.name,
          .op = node.op,
          .flops = node.flops,
          .macs = node.macs,
          .bytes = node.bytes_read + node.bytes_written,
          .intensity = node.intensity(),
          .bound_ms = bound.ms,
          .limiter = bound.limiter,
          .live_bytes = {},
          .has_rule = node.has_rule,
          .runs = node.runs};
}

}  // namespace

Forecast forecast(const std::string& model, int64_t batch, Precision precision, const cost::Costs& costs,
                  const cost::DeviceLimits& limits) {
  Forecast result;
  result.model = model;
  result.device = limits.device;
  result.arithmetic = cost::arithmetic_of(costs, limits);
  const Precision most = result.arithmetic.empty() ? precision : result.arithmetic.front().precision;
  result.origin = cost::origin_at(limits, most);
  result.limits = limits.sources;
  result.precision = precision;
  result.batch = batch;
  result.threads = limits.threads;
  result.flops = costs.flops;
  result.macs = costs.macs;
  result.data_flops = costs.data_flops;
  result.bytes = costs.bytes;
  result.compulsory_bytes = costs.compulsory_bytes;
  result.parameters = costs.parameters;
  result.weight_bytes = costs.weight_bytes;
  result.peak_activation_bytes = costs.peak_activation_bytes;
  result.inference_bytes = costs.weight_bytes + costs.peak_activation_bytes;
  result.bound = cost::bound(costs, limits);
  result.peak_flops_per_s = cost::rate_of(limits, most).flops_per_s;
  for (const cost::DeviceLimits::Level& level : limits.levels)
    if (level.bytes_per_s > 0) result.roofs.push_back({level.name, level.bytes_per_s});
  if (!limits.levels.empty() && limits.levels.back().bytes_per_s > 0)
    result.ridge_point = result.peak_flops_per_s / limits.levels.back().bytes_per_s;
  for (const cost::NodeCost& node : costs.nodes) result.layers.push_back(layer_of(node, limits));
  result.without_rule = costs.without_rule;
  result.notes = cost::notes(costs, limits);
  return result;
}

}  // namespace ridge::predict
