// `ridge bench MODEL` without options and text: plans the model's run on a device and measures it beside the device's
// limit. Prints nothing.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/run_control.h"
#include "base/result.h"
#include "measure/bench.h"
#include "measure/trace.h"
#include "model/reader.h"
#include "plan/device.h"
#include "plan/plan.h"

namespace ridge::app {

struct BenchRequest {
  std::string model;       // path
  model::Binding binding;  // insists on the batch if one was requested
  Precision precision = Precision::kFp32;
  plan::Device device;
  std::optional<int> threads;  // of each instance; absent: all usable ones, divided
  int instances = 1;
  std::string engine = plan::kUsualEngine, engine_library;
  std::map<std::string, std::string> engine_options;
  bool fresh = false;         // the machine's limits are measured again
  measure::BenchOptions how;  // energy, device, interrupted and progress are set here
};

// The model; none if it is a script of its engine, which has neither cost nor limit.
Result<std::optional<model::UnboundModel>> read_model(const BenchRequest& request);
// The model with the request's shapes. Errors are of the request: shapes that the model has not, open dimensions,
// another batch, a precision that neither file nor engine has.
Result<std::optional<model::Graph>> bind(const BenchRequest& request, const std::optional<model::UnboundModel>& model);

// `model` as read, `graph` as bound. Interrupted, the measurement until then.
Result<measure::Measurement> bench(const BenchRequest& request, const std::optional<model::UnboundModel>& model,
                                   const std::optional<model::Graph>& graph, const RunControl& control);

// The runs that BenchOptions::trace collected, beside the layers (measure/trace.h).
measure::TracedLoad traced(std::vector<measure::TimedRun> runs, const measure::Measurement& measured);
// The trace file of one or several loads.
std::string trace_text(std::span<const measure::TracedLoad> loads);

}  // namespace ridge::app
