// Efficiency: measured kernel times on one machine in one engine. Measured once by predict/calibrate, stored beside the
// machine's limits, and used by predictor.h for any other kernel. A plain value, readable as JSON; the times are stored with
// the kernels, so that a better model of their work needs no new measurement.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/fields.h"
#include "machine/disturbance.h"
#include "predict/kernel.h"

namespace ridge::predict {

struct TimedKernel {
  Kernel kernel;
  double us = 0;   // per run, from the engine's profile: includes the cost of reading the clock
  int sample = 0;  // index into Calibration::samples
};
// A kernel's members and these two.
void visit_timing(auto& visit, Is<TimedKernel> auto& timed) {
  visit("us", timed.us, at_least(0));
  visit("sample", timed.sample);
}
Json to_json(const TimedKernel& timed);
Status read_json(const Json& json, TimedKernel& timed);

// One generated model, run whole.
struct CalibrationSample {
  std::string model;           // "convolutions 3, batch 2"
  double footprint_bytes = 0;  // as from footprint_of()
  double run_us = 0;           // one run without profiling, interquartile mean
  int runs = 0;                // runs behind run_us
  double spread_percent = 0;   // half of the middle half of the runs, over run_us
};
void visit_fields(auto& visit, Is<CalibrationSample> auto& sample) {
  visit("model", sample.model);
  visit("footprint_bytes", sample.footprint_bytes);
  visit("run_us", sample.run_us);
  visit.optional("runs", sample.runs);
  visit.optional("spread_percent", sample.spread_percent);
}

// Measurements with one number of threads.
struct Calibration {
  int threads = 1;
  std::vector<CalibrationSample> samples;
  std::vector<TimedKernel> kernels;
  double held_out_error = 0;  // relative, from held_out.h; 0: not computed
};
void visit_fields(auto& visit, Is<Calibration> auto& calibration) {
  visit("threads", calibration.threads, at_least(1));
  visit.optional("held_out_error", calibration.held_out_error);
  visit("samples", calibration.samples);
  visit("kernels", calibration.kernels);
}

struct Efficiency {
  std::string machine;  // machine::Machine::id
  std::string engine;   // "onnxruntime"
  std::string engine_version;
  int64_t block = 0;  // channels per block of the engine's own layout, as observed; 0: none
  std::string measured_at;
  double seconds = 0;                                    // duration of the calibration
  std::vector<Calibration> calibrations;                 // by threads, ascending
  std::optional<machine::Disturbance> disturbance = {};  // while it was measured; absent in older files
};
void visit_fields(auto& visit, Is<Efficiency> auto& efficiency) {
  visit("machine", efficiency.machine);
  visit("engine", efficiency.engine);
  visit("engine_version", efficiency.engine_version);
  visit("block", efficiency.block);
  visit.optional("measured_at", efficiency.measured_at);
  visit.optional("seconds", efficiency.seconds);
  visit.unless_empty("disturbance", efficiency.disturbance);
  visit("calibrations", efficiency.calibrations);
}

// Of the runs: the median over the samples, of the number of threads where it is widest [%].
double spread_percent(const Efficiency& efficiency);

Json to_json(const Efficiency& efficiency);
// Refuses kernels of missing samples.
Result<Efficiency> efficiency_from_json(const Json& json);

}  // namespace ridge::predict
