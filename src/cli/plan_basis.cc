#include "cli/plan_basis.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "cli/plan_study.h"
#include "measure/measurement.h"

namespace ridge::cli {
namespace {

Result<plan::Service> service_from(const std::string& path) {
  RIDGE_ASSIGN(std::string text, read_file(path));
  RIDGE_ASSIGN(Json json, parse_json(text, path));
  Result<measure::Measurement> measured = measure::measurement_from_json(json);
  if (!measured) return wrap(measured.error(), path + " is not what `ridge bench MODEL --json` prints");
  if (measured->latency_ms.mean <= 0)
    return Error{Code::kInvalid, path + ": the mean latency is 0; a measurement with samples is needed"};
  return plan::Service{measured->batch, measured->latency_ms.mean,
                       fmt::format("measured, {} threads, {}", measured->threads, path)};
}

}  // namespace

Result<std::vector<plan::Service>> services_of(const Study& study) {
  const LoadOptions& options = study.request.options.load;
  std::vector<plan::Service> services;
  if (options.service_ms) {
    services.push_back({study.request.batch.first, *options.service_ms, "given, --service-ms"});
  } else if (!options.from.empty()) {
    RIDGE_ASSIGN(plan::Service service, service_from(options.from));
    services.push_back(service);
  } else if (!study.curve.empty()) {
    for (const plan::CurvePoint& point : study.curve)
      services.push_back({point.batch, point.estimate_ms.value_or(point.bound_ms),
                          point.estimate_ms ? "estimate" : "the bound: no real run is faster"});
  } else if (study.estimate) {
    services.push_back({study.forecast.batch, study.estimate->ms, "estimate"});
  } else if (study.carried) {
    services.push_back({study.forecast.batch, study.carried->ms.slow, "slow end of the estimate, carried over"});
  } else {
    services.push_back({study.forecast.batch, study.forecast.bound.ms, "the bound: no real run is faster"});
  }
  for (const plan::Service& service : services)
    if (service.ms <= 0)
      return Error{Code::kInvalid, "the time of one run is not known (the bound is 0); give it by --service-ms"};
  return services;
}

}  // namespace ridge::cli
