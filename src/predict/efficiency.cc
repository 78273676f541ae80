#include "predict/efficiency.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "measure/statistics.h"

namespace ridge::predict {

Json to_json(const TimedKernel& timed) {
  Json json = to_json(timed.kernel);
  FieldWriter visit(json);
  visit_timing(visit, timed);
  return json;
}

Status read_json(const Json& json, TimedKernel& timed) {
  RIDGE_TRY(read_json(json, timed.kernel));
  return read_fields(json, [&](auto& visit) { visit_timing(visit, timed); });
}

double spread_percent(const Efficiency& efficiency) {
  double widest = 0;
  for (const Calibration& calibration : efficiency.calibrations) {
    std::vector<double> spreads;
    for (const CalibrationSample& sample : calibration.samples) spreads.push_back(sample.spread_percent);
    widest = std::max(widest, measure::median(spreads));
  }
  return widest;
}

Json to_json(const Efficiency& efficiency) { return json_of(efficiency); }

Result<Efficiency> efficiency_from_json(const Json& json) {
  RIDGE_ASSIGN(Efficiency efficiency, from_json<Efficiency>(json));
  for (const Calibration& calibration : efficiency.calibrations)
    for (const TimedKernel& timed : calibration.kernels)
      if (timed.sample < 0 || timed.sample >= static_cast<int>(calibration.samples.size()))
        return invalid("a calibrated kernel of a sample that is not there");
  return efficiency;
}

}  // namespace ridge::predict
