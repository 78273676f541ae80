#include "predict/forecast.h"

#include <nlohmann/json.hpp>

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

Json to_json(const Forecast::Layer& layer) {
  Json json{{"name", layer.name},
            {"op", layer.op},
            {"flops", layer.flops},
            {"bytes", layer.bytes},
            {"intensity", layer.intensity},
            {"bound_ms", layer.bound_ms},
            {"limiter", cost::limiter_name(layer.limiter)}};
  if (layer.live_bytes) json["live_bytes"] = *layer.live_bytes;
  if (!layer.has_rule) json["has_rule"] = false;
  if (!layer.runs) json["runs"] = false;
  return json;
}

}  // namespace

Forecast forecast(const std::string& model, int64_t batch, Precision precision, const cost::Costs& costs,
                  const cost::DeviceLimits& limits) {
  Forecast result;
  result.model = model;
  result.device = limits.device;
  result.origin = cost::origin_at(limits, precision);
  result.limits = limits.bases;
  result.precision = precision;
  result.batch = batch;
  result.threads = limits.threads;
  result.flops = costs.flops;
  result.macs = costs.macs;
  result.bytes = costs.bytes;
  result.compulsory_bytes = costs.compulsory_bytes;
  result.parameters = costs.parameters;
  result.weight_bytes = costs.weight_bytes;
  result.peak_activation_bytes = costs.peak_activation_bytes;
  result.inference_bytes = costs.weight_bytes + costs.peak_activation_bytes;
  result.bound = cost::bound(costs, limits);
  result.peak_flops_per_s = cost::rate_of(limits, precision).flops_per_s;
  for (const cost::DeviceLimits::Level& level : limits.levels)
    if (level.bytes_per_s > 0) result.roofs.emplace_back(level.name, level.bytes_per_s);
  if (!limits.levels.empty() && limits.levels.back().bytes_per_s > 0)
    result.ridge_point = result.peak_flops_per_s / limits.levels.back().bytes_per_s;
  for (const cost::NodeCost& node : costs.nodes) result.layers.push_back(layer_of(node, limits));
  result.without_rule = costs.without_rule;
  result.notes = cost::notes(costs, limits);
  return result;
}

Json to_json(const Forecast& forecast) {
  Json roofs = Json::array();
  for (const auto& [level, rate] : forecast.roofs) roofs.push_back({{"level", level}, {"bytes_per_s", rate}});
  Json layers = Json::array();
  for (const Forecast::Layer& layer : forecast.layers) layers.push_back(to_json(layer));
  return Json{{"model", forecast.model},
              {"device",
               {{"name", forecast.device},
                {"kind", forecast.device_kind},
                {"origin", origin_name(forecast.origin)},
                {"memory_bytes", forecast.device_memory_bytes > 0 ? Json(forecast.device_memory_bytes) : Json()},
                {"limits", json_of(forecast.limits)}}},
              {"precision", precision_name(forecast.precision)},
              {"batch", forecast.batch},
              {"threads", forecast.threads},
              {"flops", forecast.flops},
              {"macs", forecast.macs},
              {"bytes", forecast.bytes},
              {"compulsory_bytes", forecast.compulsory_bytes},
              {"params", forecast.parameters},
              {"weight_bytes", forecast.weight_bytes},
              {"peak_activation_bytes", forecast.peak_activation_bytes},
              {"memory_bytes", {{"inference", forecast.inference_bytes}}},
              {"bound_ms", forecast.bound.ms},
              {"compute_bound_ms", forecast.bound.compute_ms},
              {"memory_bound_ms", forecast.bound.memory_ms},
              {"limiter", cost::limiter_name(forecast.bound.limiter)},
              {"ridge_point", forecast.ridge_point},
              {"peak_flops_per_s", forecast.peak_flops_per_s},
              {"roofs", roofs},
              {"without_rule", forecast.without_rule},
              {"notes", forecast.notes},
              {"layers", layers}};
}

}  // namespace ridge::predict
