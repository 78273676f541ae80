// Forecast: the prediction for a model on a device before it runs. The `plan` JSON contract; a figure without support
// is absent, not estimated.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/figure.h"
#include "base/tensor.h"
#include "cost/costs.h"

namespace ridge::predict {

struct Forecast {
  struct Layer {
    std::string name;
    std::string op;
    double flops = 0, macs = 0;
    double bytes = 0;      // read and written
    double intensity = 0;  // [FLOP/byte]
    double bound_ms = 0;
    cost::Limiter limiter = cost::Limiter::kUnknown;
    std::optional<double> live_bytes;  // of activations while it runs
    bool has_rule = true;
    bool runs = true;  // false: computed when the model is loaded, or unused
  };
  struct Roof {
    std::string level;  // of memory
    double bytes_per_s = 0;
  };
  std::string model;
  std::map<std::string, Shape> shapes;  // of the inputs, by name
  std::string device, device_kind = "cpu";
  Origin origin = Origin::kMeasured;               // of the limits that bound this: measured here, or from a datasheet
  std::vector<cost::DeviceLimits::Source> limits;  // of a GPU in this machine: the origin of each
  double device_memory_bytes = 0;                  // available to a model; 0: not known
  Precision precision = Precision::kFp32;
  int64_t batch = 1;
  int threads = 1;
  double flops = 0, macs = 0;
  double data_flops = 0;        // beside flops: at most this many more, as the data decide
  double bytes = 0;             // sum over the layers
  double compulsory_bytes = 0;  // weights, inputs and outputs
  int64_t parameters = 0;
  double weight_bytes = 0;
  double peak_activation_bytes = 0;
  double inference_bytes = 0;  // weights and live activations: the minimum of one instance
  cost::Bound bound;
  std::vector<cost::BoundShare> arithmetic;  // the longest first
  double ridge_point = 0;                    // [FLOP/byte] of the device at the peak, against DRAM
  double peak_flops_per_s = 0;               // that bounds most of the arithmetic
  std::vector<Roof> roofs;                   // nearest first, as far as measured
  std::vector<Layer> layers;
  std::vector<std::string> without_rule;
  std::vector<std::string> notes;
};
void visit_fields(auto& visit, Is<Forecast::Layer> auto& layer) {
  visit("name", layer.name);
  visit("op", layer.op, Figure().column("operator").leaves(3));
  visit("flops", layer.flops, Figure().column("FLOPs").in("FLOP").leaves(2));
  visit("macs", layer.macs);
  visit("bytes", layer.bytes, Figure().column("bytes").in("B").leaves(1));
  visit("intensity", layer.intensity, Figure().column("arithmetic intensity").in("FLOP/byte").leaves(4));
  visit("bound_ms", layer.bound_ms, Figure().column("bound"));
  visit("limiter", layer.limiter, Figure().column("limiter"));
  visit.unless_empty("live_bytes", layer.live_bytes, means("of activations alive while it runs"));
  visit.when(!layer.has_rule, [&](auto& part) { part("has_rule", layer.has_rule, Figure().column("has a rule")); });
  visit.when(!layer.runs, [&](auto& part) { part("runs", layer.runs, means("false: not computed in a run")); });
}
void visit_fields(auto& visit, Is<Forecast::Roof> auto& roof) {
  visit("level", roof.level);
  visit("bytes_per_s", roof.bytes_per_s, Figure().in("B/s"));
}
void visit_fields(auto& visit, Is<Forecast> auto& forecast) {
  visit("model", forecast.model);
  visit.unless_empty("shapes", forecast.shapes, means("of its inputs; of the first of a range of batches"));
  visit.object("device", [&](auto& device) {
    device("name", forecast.device);
    device("kind", forecast.device_kind);
    device("origin", forecast.origin);
    device.or_null("memory_bytes", forecast.device_memory_bytes);
    device("limits", forecast.limits);
  });
  visit("precision", forecast.precision);
  visit("batch", forecast.batch);
  visit("threads", forecast.threads);
  visit("flops", forecast.flops, means("of one run, by the cost conventions, as macs and bytes"));
  visit("macs", forecast.macs);
  visit.unless_empty("data_dependent_flops", forecast.data_flops,
                     means("where there are some: beside flops, at most so many more, as the data decide"));
  visit("bytes", forecast.bytes);
  visit("compulsory_bytes", forecast.compulsory_bytes, means("weights, inputs and outputs"));
  visit("params", forecast.parameters);
  visit("weight_bytes", forecast.weight_bytes);
  visit("peak_activation_bytes", forecast.peak_activation_bytes);
  visit.object("memory_bytes", [&](auto& bytes) { bytes("inference", forecast.inference_bytes); });
  visit_fields(visit, forecast.bound);
  visit.optional(
      "arithmetic", forecast.arithmetic,
      means("what the model computes in, the longest first: whose units bound it (FP32's where these are faster or the "
            "only ones), their rate, and the share of the time that the bound gives to arithmetic"));
  visit("ridge_point", forecast.ridge_point, means("of the device at the first of these").in("FLOP/byte"));
  visit("peak_flops_per_s", forecast.peak_flops_per_s, means("of the device at the first of these").in("FLOP/s"));
  visit("roofs", forecast.roofs);
  visit("without_rule", forecast.without_rule, means("operators whose FLOPs are not counted"));
  visit("notes", forecast.notes, means("assumptions"));
  visit("layers", forecast.layers, means("every node"));
}

Forecast forecast(const std::string& model, int64_t batch, Precision precision, const cost::Costs& costs,
                  const cost::DeviceLimits& limits);

}  // namespace ridge::predict
