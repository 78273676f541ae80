#include "predict/efficiency.h"

#include <nlohmann/json.hpp>

namespace ridge::predict {
namespace {

Json to_json(const CalibrationSample& sample) {
  return Json{{"model", sample.model},
              {"footprint_bytes", sample.footprint_bytes},
              {"run_us", sample.run_us},
              {"runs", sample.runs},
              {"spread_percent", sample.spread_percent}};
}

Result<CalibrationSample> sample_from_json(const Json& json) {
  CalibrationSample sample;
  RIDGE_ASSIGN(sample.model, json_member<std::string>(json, "model"));
  RIDGE_ASSIGN(sample.footprint_bytes, json_member<double>(json, "footprint_bytes"));
  RIDGE_ASSIGN(sample.run_us, json_member<double>(json, "run_us"));
  RIDGE_ASSIGN(int64_t runs, json_member_or<int64_t>(json, "runs", 0));
  sample.runs = static_cast<int>(runs);
  RIDGE_ASSIGN(sample.spread_percent, json_member_or<double>(json, "spread_percent", 0));
  return sample;
}

Json to_json(const Calibration& calibration) {
  Json samples = Json::array(), kernels = Json::array();
  for (const CalibrationSample& sample : calibration.samples) samples.push_back(to_json(sample));
  for (const TimedKernel& timed : calibration.kernels) {
    Json kernel = to_json(timed.kernel);
    kernel.erase("name");
    kernel["us"] = timed.us;
    kernel["sample"] = timed.sample;
    kernels.push_back(std::move(kernel));
  }
  return Json{{"threads", calibration.threads},
              {"held_out_error", calibration.held_out_error},
              {"samples", std::move(samples)},
              {"kernels", std::move(kernels)}};
}

Result<const Json*> list(const Json& json, const char* key) {
  auto found = json.find(key);
  if (found == json.end() || !found->is_array())
    return Error{Code::kInvalid, std::string("a calibration without its list '") + key + "'"};
  return &*found;
}

Result<TimedKernel> timed_from_json(const Json& json, size_t samples) {
  TimedKernel timed;
  RIDGE_ASSIGN(timed.kernel, kernel_from_json(json));
  RIDGE_ASSIGN(timed.us, json_member<double>(json, "us"));
  RIDGE_ASSIGN(int64_t sample, json_member<int64_t>(json, "sample"));
  if (timed.us < 0 || sample < 0 || sample >= static_cast<int64_t>(samples))
    return Error{Code::kInvalid, "a calibrated kernel with a negative time or of a sample that is not there"};
  timed.sample = static_cast<int>(sample);
  return timed;
}

Result<Calibration> calibration_from_json(const Json& json) {
  Calibration calibration;
  RIDGE_ASSIGN(int64_t threads, json_member<int64_t>(json, "threads"));
  if (threads < 1) return Error{Code::kInvalid, "a calibration with " + std::to_string(threads) + " threads"};
  calibration.threads = static_cast<int>(threads);
  RIDGE_ASSIGN(calibration.held_out_error, json_member_or<double>(json, "held_out_error", 0));
  RIDGE_ASSIGN(const Json* samples, list(json, "samples"));
  for (const Json& entry : *samples) {
    RIDGE_ASSIGN(CalibrationSample sample, sample_from_json(entry));
    calibration.samples.push_back(std::move(sample));
  }
  RIDGE_ASSIGN(const Json* kernels, list(json, "kernels"));
  for (const Json& entry : *kernels) {
    RIDGE_ASSIGN(TimedKernel timed, timed_from_json(entry, calibration.samples.size()));
    calibration.kernels.push_back(std::move(timed));
  }
  return calibration;
}

}  // namespace

Json to_json(const Efficiency& efficiency) {
  Json calibrations = Json::array();
  for (const Calibration& calibration : efficiency.calibrations) calibrations.push_back(to_json(calibration));
  return Json{{"machine", efficiency.machine},
              {"engine", efficiency.engine},
              {"engine_version", efficiency.engine_version},
              {"block", efficiency.block},
              {"measured_at", efficiency.measured_at},
              {"seconds", efficiency.seconds},
              {"calibrations", std::move(calibrations)}};
}

Result<Efficiency> efficiency_from_json(const Json& json) {
  Efficiency efficiency;
  RIDGE_ASSIGN(efficiency.machine, json_member<std::string>(json, "machine"));
  RIDGE_ASSIGN(efficiency.engine, json_member<std::string>(json, "engine"));
  RIDGE_ASSIGN(efficiency.engine_version, json_member<std::string>(json, "engine_version"));
  RIDGE_ASSIGN(efficiency.block, json_member<int64_t>(json, "block"));
  RIDGE_ASSIGN(efficiency.measured_at, json_member_or<std::string>(json, "measured_at", ""));
  RIDGE_ASSIGN(efficiency.seconds, json_member_or<double>(json, "seconds", 0));
  RIDGE_ASSIGN(const Json* calibrations, list(json, "calibrations"));
  for (const Json& entry : *calibrations) {
    RIDGE_ASSIGN(Calibration calibration, calibration_from_json(entry));
    efficiency.calibrations.push_back(std::move(calibration));
  }
  return efficiency;
}

}  // namespace ridge::predict
