#include "cli/plan_basis.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "cli/plan_study.h"
#include "measure/measurement.h"

namespace ridge::cli {
namespace {

constexpr const char* kBound = "the bound: no real run is faster";
constexpr const char* kSlowEnd = "slow end of the estimate, carried over";

sizing::Service service_of(const predict::CurvePoint& point) {
  if (point.estimate_slow_ms) return {point.batch, *point.estimate_slow_ms, kSlowEnd};
  if (point.estimate_ms) return {point.batch, *point.estimate_ms, "estimate"};
  return {point.batch, point.bound_ms, kBound};
}

Result<sizing::Service> service_from(const std::string& path) {
  RIDGE_ASSIGN(std::string text, read_file(path));
  RIDGE_ASSIGN(Json json, parse_json(text, path));
  Result<measure::Measurement> measured = from_json<measure::Measurement>(json);
  if (!measured) return wrap(measured.error(), path + " is not what `ridge bench MODEL --json` prints");
  if (measured->latency_ms.mean <= 0)
    return Error{Code::kInvalid, path + ": the mean latency is 0; a measurement with samples is needed"};
  return sizing::Service{measured->batch, measured->latency_ms.mean,
                         fmt::format("measured, {} threads, {}", measured->threads, path)};
}

}  // namespace

Result<std::vector<sizing::Service>> services_of(const Study& study) {
  const LoadOptions& options = study.request.options.load;
  std::vector<sizing::Service> services;
  if (options.service_ms) {
    services.push_back({study.request.batch.first, *options.service_ms, "given, --service-ms"});
  } else if (!options.from.empty()) {
    RIDGE_ASSIGN(sizing::Service service, service_from(options.from));
    services.push_back(service);
  } else if (!study.curve.empty()) {
    for (const predict::CurvePoint& point : study.curve) services.push_back(service_of(point));
  } else if (study.estimate) {
    services.push_back({study.forecast.batch, study.estimate->ms, "estimate"});
  } else if (study.carried) {
    services.push_back({study.forecast.batch, study.carried->ms.slow, kSlowEnd});
  } else {
    services.push_back({study.forecast.batch, study.forecast.bound.ms, kBound});
  }
  for (const sizing::Service& service : services)
    if (service.ms <= 0)
      return Error{Code::kInvalid, "the time of one run is not known (the bound is 0); give it by --service-ms"};
  return services;
}

}  // namespace ridge::cli
