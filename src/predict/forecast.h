// Forecast: the prediction for a model on a device before it runs. The `plan` JSON contract; a figure without support is
// absent, not estimated.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
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
  std::string model;
  std::string device, device_kind = "cpu";
  Origin origin = Origin::kMeasured;              // of the limits that bound this: measured here, or from a datasheet
  std::vector<cost::DeviceLimits::Basis> limits;  // of a GPU in this machine: the origin of each
  double device_memory_bytes = 0;                 // available to a model; 0: not known
  Precision precision = Precision::kFp32;
  int64_t batch = 1;
  int threads = 1;
  double flops = 0, macs = 0;
  double bytes = 0;             // sum over the layers
  double compulsory_bytes = 0;  // weights, inputs and outputs
  int64_t parameters = 0;
  double weight_bytes = 0;
  double peak_activation_bytes = 0;
  double inference_bytes = 0;  // weights and live activations: the minimum of one instance
  cost::Bound bound;
  double ridge_point = 0;  // [FLOP/byte] of the device at this precision, against DRAM
  double peak_flops_per_s = 0;
  std::vector<std::pair<std::string, double>> roofs;  // level of memory, [bytes/s]; nearest first, as far as measured
  std::vector<Layer> layers;
  std::vector<std::string> without_rule;
  std::vector<std::string> notes;
};

Forecast forecast(const std::string& model, int64_t batch, Precision precision, const cost::Costs& costs,
                  const cost::DeviceLimits& limits);

Json to_json(const Forecast& forecast);

}  // namespace ridge::predict
