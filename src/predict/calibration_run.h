// Runs models of the calibration suite: written to a folder, opened like a user's model, run for a while. Private to predict/.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "measure/runner.h"
#include "model/graph.h"
#include "plan/plan.h"
#include "predict/calibration_suite.h"

namespace ridge::predict {

plan::Plan calibration_plan(const std::string& engine_library, const std::string& path, int threads);

// A model of the suite on disk, with known shapes.
struct ReadyModel {
  std::string path;
  model::Graph graph;
  std::map<std::string, Shape> shapes;
};
Result<ReadyModel> prepare(const CalibrationModel& model, const std::string& folder);

// Runs for `time`, at least `least` times; the time of each run [µs].
Result<std::vector<double>> run_for(measure::Runner& runner, Nanoseconds time, int least, const Clock& clock);

// Mean of the middle half, and half of that half's width over the mean [%].
double middle_mean(std::vector<double> values, double& spread_percent);

}  // namespace ridge::predict
