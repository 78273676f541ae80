// Estimate: a model's real latency and throughput on a machine, from the kernel times of its calibration. Stands beside the
// bound, which is the limit; the difference is the engine's loss.
//
// Each kernel of the engine's graph gets its time (predictor.h), plus the time between kernels. For uncalibrated numbers of
// threads, each kernel follows Amdahl's law through the two nearest calibrated ones. Instances share the last cache and the
// bandwidth, and more threads than cores share the time. No kernel is faster than its bound, nor is the whole. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "machine/machine.h"
#include "model/graph.h"
#include "predict/efficiency.h"

namespace ridge::predict {

struct EstimateOptions {
  int threads = 1;      // of each instance
  int instances = 1;    // that run at the same time
  int64_t rows = 1;     // of one run: the batch
  double bound_ms = 0;  // of one run, by the roofline: the estimate is not below it
  // Relative error of predictions on this machine from a ledger of verified ones, in place of the calibration's own.
  std::optional<double> seen_error = {};
};

struct Estimate {
  struct Layer {
    std::string name;  // of the executed node
    std::string op;    // "Conv", "FusedMatMul"
    double ms = 0;
    double error_percent = 0;
    bool known = true;  // false: this operator was not timed; the time is a guess from others
  };
  double ms = 0;                // of one run
  double throughput_per_s = 0;  // rows, of all instances together
  double error_percent = 0;     // expected: two of three runs lie within ± this
  double between_ms = 0;        // of `ms`: between kernels
  int threads = 1, instances = 1;
  std::string engine;  // "onnxruntime 1.31.1"
  std::string measured_at;
  std::vector<Layer> layers;       // as executed
  std::vector<std::string> notes;  // sentences on what was extrapolated or guessed
};
void visit_fields(auto& visit, Is<Estimate::Layer> auto& layer) {
  visit("name", layer.name);
  visit("op", layer.op);
  visit("ms", layer.ms);
  visit("error_percent", layer.error_percent);
  if (!layer.known) visit("known", layer.known);
}
void visit_fields(auto& visit, Is<Estimate> auto& estimate) {
  visit("estimate_ms", estimate.ms);
  visit("estimate_per_s", estimate.throughput_per_s);
  visit("estimate_error_percent", estimate.error_percent);
  visit.object("estimate", [&](auto& how) {
    how("engine", estimate.engine);
    how("calibrated_at", estimate.measured_at);
    how("threads", estimate.threads);
    how("instances", estimate.instances);
    how("between_ms", estimate.between_ms);
    how("notes", estimate.notes);
    how("kernels", estimate.layers);
  });
}

// `graph`: the engine's own (predict/optimised_graph.h); with the model's own graph the figure is rough. `machine` with its
// limits. Error (kNotFound) if `efficiency` holds no calibration.
Result<Estimate> estimate(const model::Graph& graph, const Efficiency& efficiency, const machine::Machine& machine,
                          const EstimateOptions& options);

}  // namespace ridge::predict
